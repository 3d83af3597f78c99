// Server-sent events, from text that comes in pieces.

// feed(text) returns the events that are complete by now: {type, data, id}.
export function sseParser() {
  let rest = '';
  return (text) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop();
    return blocks.map(eventOf).filter((event) => event.data !== null);
  };
}

function eventOf(block) {
  const event = {type: 'message', data: null, id: null};
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(line[at + 1] === ' ' ? at + 2 : at + 1);
    if (name === 'data') event.data = event.data === null ? value : `${event.data}\n${value}`;
    if (name === 'event') event.type = value;
    if (name === 'id') event.id = value;
  }
  return event;
}
