// The connection to the server. It comes back by itself, after longer and longer waits.

const FIRST_WAIT = 250;
const LONGEST_WAIT = 8000;

export class Connection {
  constructor({ onMessage, onState }) {
    this.onMessage = onMessage;
    this.onState = onState;
    this.tries = 0;
    this.socket = null;
    this.timer = 0;
    // a laptop that wakes up, or a tab that comes to the front, should not wait for the timer
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/socket`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.tries = 0;
      this.onState("connected");
    };
    socket.onmessage = (event) => this.onMessage(event.data);
    socket.onclose = () => this.wait();
    this.socket = socket;
  }

  wait() {
    const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 1.7 ** this.tries);
    this.tries += 1;
    this.onState("waiting");
    this.timer = setTimeout(() => this.open(), longest * (0.5 + Math.random() / 2)); // not all browsers at once
  }

  hurry() {
    if (this.socket.readyState === WebSocket.CLOSED) {
      this.tries = 0;
      this.open();
    }
  }

  send(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
