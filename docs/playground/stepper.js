// One flow, step by step: a slider over its events, the packet of the chosen one hop by hop, and its place in the ladder.

import { duration, element, fill, table } from './markup.js';

const byId = (id) => document.getElementById(id);
const KEYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };

export class Stepper {
  /** Number of the chosen step. */
  position = 0;
  #steps = [];
  #parts = {};
  #onMove;

  constructor(onMove) {
    this.#onMove = onMove;
    const go = { first: () => -Infinity, back: () => -1, forward: () => 1, last: () => Infinity };
    for (const [id, by] of Object.entries(go)) byId(id).addEventListener('click', () => this.#move(by()));
    byId('step').addEventListener('input', () => this.#choose(Number(byId('step').value)));
    byId('ladder').addEventListener('click', (event) => {
      const drawn = event.target.closest('g[data-step]');
      if (drawn) this.#choose(Number(drawn.dataset.step));
    });
    byId('ladder').addEventListener('keydown', (event) => {
      const by = { ...KEYS, Home: -Infinity, End: Infinity }[event.key];
      if (by !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        this.#move(by);
      }
    });
    byId('events').addEventListener('change', () => this.#onMove());
  }

  /** Shows a flow. `parts` are the meanings of the parts of its time. */
  show(trace, parts, position) {
    this.#steps = trace.steps;
    this.#parts = parts;
    byId('ladder').innerHTML = trace.svg;
    byId('ladder').classList.remove('busy');
    byId('step').max = Math.max(this.#steps.length - 1, 0);
    this.#choose(Math.min(position, this.#steps.length - 1), false);
  }

  clear() {
    this.#steps = [];
    for (const id of ['ladder', 'now', 'journey']) fill(byId(id), []);
  }

  #isNotable = (step) =>
    step.corrupted || step.lost_on_failed_link || step.packet?.name === 'NAK'
    || ['posted', 'dropped', 'nak', 'rewound', 'timer', 'completed', 'failed'].includes(step.what);

  #move(by) {
    const last = this.#steps.length - 1;
    if (last < 0) return;
    if (!byId('events').checked || !Number.isFinite(by)) {
      this.#choose(Math.min(Math.max(this.position + by, 0), last));
      return;
    }
    const direction = Math.sign(by);
    let next = this.position;
    for (let left = Math.abs(by); left > 0; left--) {
      let found = next + direction;
      while (found >= 0 && found <= last && !this.#isNotable(this.#steps[found])) found += direction;
      if (found < 0 || found > last) break;
      next = found;
    }
    this.#choose(next);
  }

  #choose(position, isMoved = true) {
    const step = this.#steps[position];
    if (!step) return;
    this.position = position;
    const text = this.#describe(step);
    const range = byId('step');
    range.value = position;
    range.setAttribute('aria-valuetext', `step ${position + 1} of ${this.#steps.length}: ${text}`);
    byId('now').textContent = `Step ${position + 1} of ${this.#steps.length}. ${text}`;
    for (const id of ['first', 'back']) byId(id).disabled = position === 0;
    for (const id of ['forward', 'last']) byId(id).disabled = position === this.#steps.length - 1;
    this.#showJourney(step);
    this.#emphasise(position, isMoved);
    if (isMoved) this.#onMove();
  }

  #since(step) {
    return step.time_ps - this.#steps[0].time_ps;
  }

  #describe(step) {
    const waited = this.#waits(step);
    const because = waited ? ` It had waited ${waited}.` : '';
    return `After ${duration(this.#since(step))}: ${step.node} ${step.text}.${because}`;
  }

  /** Why a packet waited before it was sent, in words. */
  #waits({ waited_ps: waited, behind }) {
    const reasons = Object.entries(waited ?? {}).map(([part, ps]) => `${duration(ps)}: ${this.#parts[part]}`);
    if (reasons.length === 0) return '';
    const frames = behind?.own + behind?.others > 0
      ? ` (behind ${behind.own} frames of this flow and ${behind.others} of others)` : '';
    return reasons.join('; ') + frames;
  }

  /** The hops of the packet of a step. */
  #showJourney(step) {
    const { packet } = step;
    const isSame = (other) => other?.number === packet.number && other.psn === packet.psn && other.name === packet.name;
    const hops = packet ? this.#steps.filter((other) => isSame(other.packet)) : [];
    if (hops.length === 0) return fill(byId('journey'), []);
    const rows = hops.map((hop) => [
      hop.to ? `${hop.node} → ${hop.to}` : hop.node, { n: duration(this.#since(hop)) },
      hop.to ? { n: duration(hop.arrive_ps - this.#steps[0].time_ps) } : '', this.#fate(hop), { why: this.#waits(hop) || 'no wait' },
    ]);
    const headings = ['link', { n: 'leaves' }, { n: 'arrives' }, 'fate', { why: 'wait before it' }];
    const title = `${packet.name} ${packet.psn}${packet.retransmission ? ', sent again' : ''}, hop by hop`;
    const scroll = element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: title });
    scroll.append(table(headings, rows));
    return fill(byId('journey'), [element('h3', {}, title), scroll]);
  }

  #fate(hop) {
    if (hop.what === 'dropped') return element('span', { className: 'bad' }, `dropped: ${hop.why}`);
    if (hop.corrupted) return element('span', { className: 'bad' }, 'corrupted');
    if (hop.lost_on_failed_link) return element('span', { className: 'bad' }, 'lost on a failed link');
    return 'arrives';
  }

  /** Marks the step in the ladder, or the last one before it that is drawn. */
  #emphasise(position, scrolls) {
    const ladder = byId('ladder');
    let nearest;
    for (const drawn of ladder.querySelectorAll('g[data-step]')) {
      drawn.classList.remove('chosen');
      const number = Number(drawn.dataset.step);
      if (number <= position && number >= Number(nearest?.dataset.step ?? -1)) nearest = drawn;
    }
    if (!nearest) return;
    nearest.classList.add('chosen');
    if (scrolls) {
      const [box, frame] = [nearest.getBoundingClientRect(), ladder.getBoundingClientRect()];
      ladder.scrollTop += box.top - frame.top - frame.height / 3;
      ladder.scrollLeft += (box.left + box.right - frame.left - frame.right) / 2;
    }
  }
}
