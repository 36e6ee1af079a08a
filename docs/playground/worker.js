// Runs the simulator, so that the page stays responsive. The page ends a worker whose answer it no longer needs.

const decoder = new TextDecoder();
let engine;
let asked;
let panic;

const page = {
  progress: (ns, flows) => postMessage({ id: asked, progress: { ns, flows } }),
  panicked: (address, length) => {
    panic = decoder.decode(new Uint8Array(engine.memory.buffer, address, length));
  },
};

function answer(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const address = engine.allocate(bytes.length);
  new Uint8Array(engine.memory.buffer, address, bytes.length).set(bytes);
  const from = engine.answer();
  return JSON.parse(decoder.decode(new Uint8Array(engine.memory.buffer, from, engine.answer_length())));
}

onmessage = async ({ data }) => {
  if (data.module) {
    engine = (await WebAssembly.instantiate(data.module, { page })).exports;
    return postMessage({ ready: true });
  }
  asked = data.id;
  try {
    postMessage({ id: data.id, answer: answer(data.question) });
  } catch (error) {
    postMessage({ id: data.id, answer: { error: `the simulator stopped: ${panic ?? error}` }, dead: true });
  }
};
