// Elements of the page. Texts are always text, never markup.

/** An element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === 'role') made.setAttribute('role', value);
    else made[key] = value;
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** Replaces the children of an element. */
export function fill(parent, children) {
  parent.replaceChildren(...children);
}

/** A table; a cell is a text or an element, or `{ CLASS: cell }`. */
export function table(headings, rows) {
  const cell = (name) => (content) => {
    const [[className, inner]] = isClassed(content) ? Object.entries(content) : [['', content]];
    const made = element(name, { className }, inner);
    if (name === 'th') made.scope = 'col';
    return made;
  };
  const line = (name, cells) => element('tr', {}, ...cells.map(cell(name)));
  const body = rows.map((cells) => line('td', cells));
  return element('table', {}, element('thead', {}, line('th', headings)), element('tbody', {}, ...body));
}

const isClassed = (content) => typeof content === 'object' && !(content instanceof Node);

/** Picoseconds as a time with three significant digits. */
export function duration(ps) {
  const units = [[1e12, 's'], [1e9, 'ms'], [1e6, 'µs'], [1e3, 'ns']];
  const [size, unit] = units.find(([least]) => ps >= least) ?? [1e3, 'ns'];
  return `${Number((ps / size).toPrecision(3))} ${unit}`;
}
