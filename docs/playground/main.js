// The page: settings in, completion times and a flow packet by packet out. Its state is in the fragment of its address.

import { Engine, Outdated } from './engine.js';
import { SCENES, changes } from './scenes.js';
import { Stepper } from './stepper.js';
import { duration, element, fill, table } from './markup.js';

const PAUSE_MS = 60;
const byId = (id) => document.getElementById(id);

const engine = new Engine();
const stepper = new Stepper(() => saveState());
let parts = {};

let scene = SCENES[0];
let values = {};
let variant = 0;
/** The number of the traced flow; the slowest one if undefined. */
let flow;
let wantedStep;
/** Answers for the present settings, by variant. */
let runs = [];
/** Which round of questions is valid. */
let round = 0;

// ---- State in the address

function readState() {
  const state = new URLSearchParams(location.hash.slice(1));
  scene = SCENES.find((found) => found.id === state.get('scene')) ?? SCENES[0];
  values = {};
  for (const slider of scene.sliders) values[slider.id] = within(slider, state.get(slider.id));
  variant = whole(state.get('variant')) ?? scene.variant ?? 0;
  flow = whole(state.get('flow'));
  wantedStep = whole(state.get('step'));
  byId('seed').value = Math.min(whole(state.get('seed')) ?? 1, 2 ** 32 - 1);
  byId('events').checked = state.get('events') === '1';
}

const whole = (text) => (text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

function within({ min, max, value, step = 1 }, text) {
  const wanted = whole(text);
  return wanted === undefined ? value : min + Math.round((Math.min(Math.max(wanted, min), max) - min) / step) * step;
}

function saveState() {
  const state = new URLSearchParams({ scene: scene.id });
  for (const { id, value } of scene.sliders) if (values[id] !== value) state.set(id, values[id]);
  if (variant !== (scene.variant ?? 0)) state.set('variant', variant);
  if (byId('seed').value !== '1') state.set('seed', byId('seed').value);
  if (flow !== undefined) state.set('flow', flow);
  if (stepper.position > 0) state.set('step', stepper.position);
  if (byId('events').checked) state.set('events', '1');
  history.replaceState(null, '', `#${state}`);
}

// ---- Questions

const question = (ask, more = {}) => ({
  ask, scenario: scene.scenario, set: changes(scene, values), seed: Number(byId('seed').value), ...more,
});

/** Starts a round of questions; a round that is not finished ends. */
async function simulate(work) {
  const mine = ++round;
  engine.abandon();
  byId('error').hidden = true;
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  if (mine !== round) return;
  try {
    await work(() => mine === round);
    if (mine === round) {
      say('Done.', 1);
      document.body.dataset.state = 'done';
    }
  } catch (error) {
    if (error instanceof Outdated || mine !== round) return;
    byId('error').textContent = error.message;
    byId('error').hidden = false;
    say('', 0);
    document.body.dataset.state = 'failed';
  }
}

function say(text, share) {
  byId('state').textContent = text;
  byId('progress').value = share;
}

/** Runs the shown variant, draws its flow, and runs the other variants. */
function runAll() {
  document.body.dataset.state = 'busy';
  return simulate(async (isValid) => {
    for (const id of ['times', 'parts', 'ladder']) byId(id).classList.add('busy');
    runs = [];
    const { variants, about, text } = await describe();
    if (!isValid()) return;
    variant = Math.min(variant, variants.length - 1);
    byId('about').textContent = (scene.about ?? about).replaceAll('\n', ' ');
    byId('text').textContent = text;
    fill(byId('variant'), variants.map((name, i) => element('option', { value: i, selected: i === variant }, name)));
    const order = [variant, ...variants.keys()].filter((v, i) => i === 0 || v !== variant);
    const total = order.length + 1;
    let done = 0;
    for (const number of order) {
      const share = done / total;
      say(`Simulating “${variants[number]}”, ${order.indexOf(number) + 1} of ${order.length}…`, share);
      const answer = await engine.ask(question('run', { variant: number }), ({ ns, flows }) => {
        say(`Simulating “${variants[number]}”: ${duration(ns * 1e3)} simulated, ${flows} flows ended…`, share);
      });
      if (!isValid()) return;
      runs[number] = answer;
      done++;
      await showTimes();
      if (number === variant) {
        await traceFlow(isValid);
        done++;
      }
      if (!isValid()) return;
    }
  });
}

async function describe() {
  if (!parts.queueing) {
    const library = await engine.ask({ ask: 'library' });
    parts = library.parts;
    document.head.append(element('style', {}, library.style));
  }
  return engine.ask(question('describe'));
}

async function showTimes() {
  const done = runs.filter(Boolean);
  const { html } = await engine.ask({ ask: 'compare', variants: done.map((run) => run.summary) });
  byId('times').innerHTML = html;
  byId('times').classList.remove('busy');
  for (const wide of byId('times').querySelectorAll('table')) {
    const scroll = element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Completion times' });
    wide.replaceWith(scroll);
    scroll.append(wide);
  }
  const digests = done.map(({ summary }) => [summary.name, element('code', { className: 'digest' }, summary.digest)]);
  fill(byId('digests'), [table(['variant', 'digest'], digests)]);
  showCommand();
}

function showCommand() {
  const quoted = (text) => (/^[\w.,=:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
  const sets = changes(scene, values).map((set) => ` \\\n  --set ${quoted(set)}`).join('');
  const seed = ` --seed ${byId('seed').value}`;
  const name = runs[variant]?.summary.name ?? 'base';
  const chosen = name === 'base' ? '' : ` --variant ${quoted(name)}`;
  const number = flow ?? runs[variant]?.slowest ?? 'slowest';
  byId('command').textContent =
    `wiremend run ${scene.scenario}${seed}${sets}\nwiremend trace ${scene.scenario}${seed}${chosen} --flow ${number}${sets}`;
}

/** Asks for the chosen flow of the shown variant, and shows it. */
async function traceFlow(isValid) {
  const { slowest, flows } = runs[variant];
  if (slowest === null) {
    stepper.clear();
    fill(byId('flow'), []);
    fill(byId('parts'), [element('p', {}, 'No flow ended.')]);
    return;
  }
  const wanted = flow ?? slowest;
  const shown = ({ flow: number, src, dst, fct_ps: time, outcome, timeouts }) => {
    const end = outcome === 'finished' ? duration(time) : outcome;
    return `${number}: h${src} → h${dst}, ${end}${timeouts ? `, ${timeouts} timeout${timeouts > 1 ? 's' : ''}` : ''}`;
  };
  const known = flows.some(({ flow: number }) => number === wanted);
  fill(byId('flow'), [
    ...flows.map((row) => element('option', { value: row.flow, selected: row.flow === wanted }, shown(row))),
    ...(known ? [] : [element('option', { value: wanted, selected: true }, String(wanted))]),
  ]);
  byId('state').textContent = `Following flow ${wanted}…`;
  const trace = await engine.ask(question('trace', { variant, flow: wanted }));
  if (!isValid()) return;
  showParts(trace);
  stepper.show(trace, parts, wantedStep ?? 0);
  wantedStep = undefined;
}

function showParts({ parts: times, steps_left_out: leftOut }) {
  const total = (times ?? []).reduce((sum, { ps }) => sum + ps, 0);
  const bar = (ps) => {
    const filled = element('i');
    filled.style.width = `${(100 * ps) / total}%`;
    return filled;
  };
  const rows = (times ?? []).map(({ part, ps }) => [
    part, { n: duration(ps) }, { n: `${Number(((100 * ps) / total).toPrecision(3))} %` }, { bar: bar(ps) },
    { why: parts[part] },
  ]);
  const heading = element('h3', {}, `Where the ${duration(total)} went`);
  const scroll = element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Parts of the time' });
  scroll.append(table(['part', { n: 'time' }, { n: 'share' }, { bar: '' }, 'meaning'], rows));
  const notes = [];
  if (!times) notes.push(element('p', {}, 'Not all steps were kept, so the time is not broken down.'));
  if (leftOut > 0) notes.push(element('p', { className: 'faint' }, `${leftOut} later steps are not listed.`));
  fill(byId('parts'), times ? [heading, scroll, ...notes] : notes);
  byId('parts').classList.remove('busy');
}

// ---- Settings

function showSettings() {
  fill(byId('scene'), SCENES.map(({ id, name }) => element('option', { value: id, selected: id === scene.id }, name)));
  fill(byId('sliders'), scene.sliders.map((slider) => {
    const { id, label, min, max, step = 1, show } = slider;
    const input = element('input', { type: 'range', id: `set-${id}`, min, max, step });
    const output = element('output', { htmlFor: input.id });
    const update = () => {
      output.textContent = show(values[id]);
      input.setAttribute('aria-valuetext', show(values[id]));
    };
    input.value = values[id];
    input.addEventListener('input', () => {
      values[id] = Number(input.value);
      update();
      change();
    });
    update();
    return element('p', { className: 'slider' }, element('label', { htmlFor: input.id }, label), output, input);
  }));
}

/** The settings have changed: the flow and the step may not exist any more. */
function change() {
  flow = undefined;
  wantedStep = undefined;
  stepper.position = 0;
  saveState();
  runAll();
}

function open() {
  readState();
  showSettings();
  runAll();
}

byId('scene').addEventListener('change', () => {
  location.hash = `scene=${byId('scene').value}`;
});
byId('reset').addEventListener('click', () => {
  history.replaceState(null, '', `#scene=${scene.id}`);
  open();
});
byId('seed').addEventListener('change', () => {
  if (byId('seed').checkValidity()) change();
  else byId('seed').reportValidity();
});
byId('variant').addEventListener('change', () => {
  variant = Number(byId('variant').value);
  change();
});
byId('flow').addEventListener('change', () => {
  flow = Number(byId('flow').value);
  stepper.position = 0;
  saveState();
  document.body.dataset.state = 'busy';
  simulate(async (isValid) => {
    if (!runs[variant]) return runAll();
    await traceFlow(isValid);
    showCommand();
    return undefined;
  });
});
byId('share').addEventListener('click', async () => {
  saveState();
  await navigator.clipboard.writeText(location.href).then(
    () => say('The link is in the clipboard.', 1),
    () => say(`The link is in the address bar: ${location.href}`, 1),
  );
});
byId('settings').addEventListener('submit', (event) => event.preventDefault());
window.addEventListener('hashchange', open);
open();
