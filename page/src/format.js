// Values as people read them.

const kUnits = {Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, k: 1e3, M: 1e6, G: 1e9, T: 1e12, '': 1};

// Bytes of a quantity of Kubernetes, such as 12Gi; NaN for other texts.
export function bytesOf(quantity) {
  const [, number, unit] = /^([0-9.]+)\s*([KMGT]i|[kMGT])?B?$/.exec(quantity ?? '') ?? [];
  return number === undefined ? NaN : Number(number) * kUnits[unit ?? ''];
}

export function bytes(value) {
  const unit = ['Ti', 'Gi', 'Mi', 'Ki'].find((one) => value >= kUnits[one]);
  return unit ? `${(value / kUnits[unit]).toFixed(1)} ${unit}B` : `${value} B`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '';
  const [days, hours, minutes] = [86400, 3600, 60].map((unit) => Math.floor(seconds / unit));
  if (days) return `${days} d ${hours % 24} h`;
  if (hours) return `${hours} h ${minutes % 60} min`;
  return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`;
}

// With three digits, in milliseconds below a second.
export function seconds(value) {
  const [number, unit] = value < 1 ? [1000 * value, 'ms'] : [value, 's'];
  return `${number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0)} ${unit}`;
}

// Below a hundred, tenths count.
export const hours = (value) => (value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));

export const age = (time, now) => duration(Math.max(0, (now - Date.parse(time)) / 1000));
// Where nobody knows, the operator says "-".
export const percent = (text) => (Number.isFinite(Number.parseFloat(text)) ? `${text} %` : '');
// isGone: the page's own word for a job that it was told of and that is deleted by now.
export const stateOf = (job) => (job.isGone ? 'Deleted' : job.deleteTime ? 'Deleting' : job.object.status?.state ?? 'Pending');
export const nameOf = (resource) => resource.slice(resource.lastIndexOf('/') + 1);
export const namespaceOf = (resource) => resource.split('/')[1];
