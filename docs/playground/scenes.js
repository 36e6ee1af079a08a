// The scenes: scenarios of the library, and sliders that change their values as `--set` does.

const percent = (share) => (share === 0 ? 'none' : `${Number((share * 100).toPrecision(2))} %`);
const timer = (exponent) => {
  const us = 4.096 * 2 ** exponent;
  return us < 1000 ? `${us.toPrecision(3)} µs` : us < 1e6 ? `${(us / 1e3).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
};
const times = (count) => `${count}×`;

/** Loss of a logarithmic slider: 0, then 1e-6 to 1e-1 in thirds of a decade. */
const lossAt = (step) => (step === 0 ? 0 : Number((10 ** (-6 + (step - 1) / 3)).toPrecision(2)));

const timeout = (value = 14) => ({
  id: 'timeout', label: 'Retransmission timer', min: 4, max: 20, value, show: timer, set: (v) => [`transport.timeout=${v}`],
});
const dummies = {
  id: 'dummies', label: 'Dummies after the last packet', min: 0, max: 4, value: 0, show: times,
  set: (v) => [`mend.dummies=${v}`],
};
const nakCopies = {
  id: 'naks', label: 'Copies of each NAK', min: 0, max: 4, value: 0, show: times, set: (v) => [`mend.nak_copies=${v}`],
};
const retransmissionCopies = {
  id: 'copies', label: 'Copies of each retransmission', min: 0, max: 4, value: 0, show: times,
  set: (v) => [`mend.retransmission_copies=${v}`],
};
const loss = (path, value, label = 'Loss of frames') => ({
  id: 'loss', label, min: 0, max: 16, value, show: (v) => percent(lossAt(v)), set: (v) => [`${path}=${lossAt(v)}`],
});

/** A write of some packets, of which rules lose some, and others are lost at random. */
const write = (rules, { links = 'h0-tor', lost = 'Number of the lost packet', psn }) => [
  {
    id: 'packets', label: 'Packets of the flow', min: 1, max: 64, value: 12, show: String,
    set: (v) => [`workload.0.bytes=${v}KiB`],
  },
  { id: 'psn', label: lost, min: 0, max: 63, value: psn, show: String },
  {
    id: 'loss', label: 'Further frames lost at random', min: 0, max: 16, value: 0, show: (v) => percent(lossAt(v)),
    set: (v, all) => {
      const random = v === 0 ? '' : `, { kind = "frames", links = "${links}", rate = ${lossAt(v)} }`;
      return [`impair=[{ kind = "script", links = "${links}", rules = [${rules(all.psn)}] }${random}]`];
    },
  },
];

export const SCENES = [
  {
    id: 'tail-packet', name: 'The last packet is lost', scenario: 'tail-packet',
    sliders: [...write((psn) => `{ packet = "data", psn = ${psn} }`, { psn: 11 }), dummies, nakCopies,
      retransmissionCopies, timeout()],
  },
  {
    id: 'nak', name: 'A NAK is lost', scenario: 'nak',
    sliders: [...write((psn) => `{ packet = "data", psn = ${psn} }, { packet = "nak", psn = ${psn} }`,
      { psn: 5, lost: 'Packet that is lost, and then its NAK' }), nakCopies, dummies, retransmissionCopies, timeout()],
  },
  {
    id: 'twice', name: 'A packet is lost twice', scenario: 'twice',
    sliders: [...write((psn) => `{ packet = "data", psn = ${psn}, nth = 1, count = 2 }`,
      { psn: 5, lost: 'Packet that is lost twice' }), retransmissionCopies, dummies, nakCopies, timeout()],
  },
  {
    id: 'tail-ack', name: 'The last ACK is lost', scenario: 'tail-ack',
    sliders: [...write((psn) => `{ packet = "ack", psn = ${psn} }`, { psn: 11, lost: 'Number in the lost ACK' }), dummies,
      nakCopies, retransmissionCopies, timeout()],
  },
  {
    id: 'linkguardian', name: 'A link that mends its losses: LinkGuardian on and off', scenario: 'tail-packet',
    about: 'The link between two switches loses one packet of a write. Without protection the requester waits for its \
timer if no later packet reveals the gap. With LinkGuardian the switches number the frames, and the sending one \
repeats the lost frame within microseconds: the hosts notice nothing. The flow starts after 1 ms, when the two ends \
have measured their link.',
    set: [
      'topology={ kind = "chain", switches = 2, rate = "100Gbps", delay = "1us" }',
      'workload.0.start=1ms',
      'variant=[{ name = "not protected" }, '
        + '{ name = "LinkGuardian", set = { protect = [{ links = "switches", by = "linkguardian" }] } }, '
        + '{ name = "LinkGuardian, out of order", set = { protect = [{ links = "switches", by = "linkguardian-nb" }] } }]',
    ],
    variant: 1,
    sliders: [...write((psn) => `{ packet = "data", psn = ${psn} }`, { links: 'switches', psn: 11 }), timeout()],
  },
  {
    id: 'tour', name: 'A small Clos network: corruption and its remedies', scenario: 'tour', variant: 1,
    sliders: [
      {
        id: 'loss', label: 'Loss of full frames on links between switches', min: 0, max: 16, value: 10,
        show: (v) => percent(lossAt(v)),
        // A frame of 1102 bytes is intact if all its bits are.
        set: (v) => [`impair.0.rate=${Number((-Math.expm1(Math.log1p(-lossAt(v)) / 8816)).toPrecision(4))}`],
      },
      { id: 'load', label: 'Load of storage traffic', min: 5, max: 80, step: 5, value: 20, show: (v) => `${v} %`,
        set: (v) => [`workload.0.load=${v / 100}`] },
      { id: 'flows', label: 'Flows of storage traffic', min: 500, max: 8000, step: 500, value: 2000, show: String,
        set: (v) => [`workload.0.flows=${v}`] },
      timeout(),
    ],
  },
  {
    id: 'deadlock', name: 'A routing loop deadlocks a lossless fabric', scenario: 'deadlock', set: ['stop.after=20ms'],
    sliders: [
      { id: 'loop', label: 'Load of the flow in the loop', min: 1, max: 20, value: 5, show: (v) => `${v} Gb/s`,
        set: (v) => [`workload.0.rate=${v}Gbps`] },
      { id: 'load', label: 'Load of the other flows', min: 5, max: 60, step: 5, value: 20, show: (v) => `${v} %`,
        set: (v) => [`workload.1.load=${v / 100}`] },
      { id: 'ends', label: 'End of the loop', min: 2, max: 10, value: 6, show: (v) => `${v} ms`,
        set: (v) => [`route.0.stop=${v}ms`] },
      timeout(8),
    ],
  },
  {
    id: 'pfc', name: 'PFC frames are lost too', scenario: 'pauses', variant: 3,
    sliders: [
      loss('impair.0.rate', 10, 'Loss on links between switches'),
      { id: 'size', label: 'Size of each flow', min: 64, max: 1024, step: 64, value: 1024, show: (v) => `${v} KiB`,
        set: (v) => [`workload.0.bytes=${v}KiB`] },
      timeout(),
    ],
  },
  {
    id: 'dcp', name: 'Trimming switches: DCP', scenario: 'incast', variant: 1,
    about: 'Fifteen hosts send to one. The ports of the switches have small buffers. Switches that trim cut the payload of \
packets that do not fit and forward their headers, so that DCP learns each loss within a round trip. Corrupted packets \
leave no header: the published scheme waits for its timer, and hints of the receiver and a probe of the sender repair \
that.',
    set: [
      'topology.buffer=130kB',
      'impair=[{ kind = "frames", links = "switches", rate = 0 }]',
      'variant=[{ name = "go-back-N" }, '
        + '{ name = "DCP as published", set = { "transport.recovery" = "dcp", switch = { trim = { threshold = "130kB" } }, '
        + '"transport.dcp" = { tracking = "counter" } } }, '
        + '{ name = "DCP with hints", set = { "transport.recovery" = "dcp", switch = { trim = { threshold = "130kB" } }, '
        + '"transport.dcp" = { tracking = "bitmap", allowance = 32, probe = "30us" } } }]',
    ],
    sliders: [
      loss('impair.0.rate', 0, 'Corruption on links between switches'),
      { id: 'size', label: 'Size of each flow', min: 16, max: 1024, step: 16, value: 256, show: (v) => `${v} KiB`,
        set: (v) => [`workload.0.bytes=${v}KiB`] },
      timeout(8),
    ],
  },
];

/** The changed values of a scene for the positions of its sliders. */
export function changes(scene, values) {
  const moved = scene.sliders.flatMap((slider) => slider.set?.(values[slider.id], values) ?? []);
  return [...(scene.set ?? []), ...moved];
}
