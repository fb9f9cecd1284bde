"""Where a query runs on Spark. Nothing else imports PySpark."""
