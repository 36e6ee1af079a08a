// The simulator in a worker: one question at a time. A newer round of questions ends the older one.

const FILE = 'wiremend.wasm.gz';

/** Thrown to the asker when a newer round has begun. */
export class Outdated extends Error {}

async function fetchModule() {
  const response = await fetch(FILE);
  if (!response.ok) {
    throw new Error(`${FILE}: ${response.status} ${response.statusText}; \`cargo xtask playground\` builds it`);
  }
  let bytes = new Uint8Array(await response.arrayBuffer());
  // Some servers declare the compression, and the browser has undone it.
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  }
  return WebAssembly.compile(bytes);
}

export class Engine {
  #module = fetchModule();
  #worker;
  #ready;
  #pending;
  #next = 0;
  #round = 0;

  /** Gives up what was asked and is not answered. */
  abandon() {
    this.#round++;
    if (this.#pending) {
      this.#worker.terminate();
      this.#worker = undefined;
      this.#pending.reject(new Outdated());
      this.#pending = undefined;
    }
  }

  /** Asks and returns the answer; throws its error. `onProgress` gets the simulated time of a run. */
  async ask(question, onProgress = () => {}) {
    const round = this.#round;
    await this.#start();
    if (round !== this.#round) throw new Outdated();
    if (this.#pending) throw new Error('one question at a time');
    const id = this.#next++;
    const answer = await new Promise((resolve, reject) => {
      this.#pending = { id, resolve, reject, onProgress };
      this.#worker.postMessage({ id, question });
    });
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  async #start() {
    if (this.#worker) return this.#ready;
    const module = await this.#module;
    if (this.#worker) return this.#ready;
    this.#worker = new Worker('worker.js');
    this.#ready = new Promise((resolve, reject) => {
      this.#worker.onerror = (event) => reject(new Error(`the worker did not start: ${event.message ?? 'blocked'}`));
      this.#worker.onmessage = ({ data }) => (data.ready ? resolve() : this.#receive(data));
    });
    this.#worker.postMessage({ module });
    return this.#ready;
  }

  #receive({ id, answer, progress, dead }) {
    const pending = this.#pending;
    if (!pending || pending.id !== id) return;
    if (progress) return pending.onProgress(progress);
    this.#pending = undefined;
    if (dead) {
      this.#worker.terminate();
      this.#worker = undefined;
    }
    pending.resolve(answer);
  }
}
