// Elements. What is shown of a job is written by others, so it only ever becomes text, never markup.

// h('a', {href, class, onclick, ...}, 'text', element, ...)
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Writes only what differs, so that nothing moves or is read aloud again.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const section = (title, ...children) => h('section', {'aria-label': title}, h('h2', {}, title), ...children);

export const say = (text) => setText(document.getElementById('status'), text);

export function failure(error) {
  const told = error.violations?.length
    ? error.violations.map((one) => `${one.field}: ${one.description}`).join('\n') : error.message;
  return h('p', {role: 'alert', class: 'failure'}, told);
}
