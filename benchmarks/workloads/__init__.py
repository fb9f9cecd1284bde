"""What people do with windows, in the words of each library they may use: the time of all rows, and the memory it takes.

data.py        the rows                     asked.py       the questions, in the words of each library
cases.py       the table of cases           field.py       starts a process for each answer, and compares the answers
one_answer.py  one library, one question, in a process of its own
"""
