// JSON as YAML, in block style. Every text that YAML could read as something else is quoted as JSON.

const kPlain = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const kWords = /^(true|false|yes|no|on|off|null|y|n)$/i;

const scalar = (value) =>
  (typeof value === 'string' && kPlain.test(value) && !kWords.test(value) ? value : JSON.stringify(value));
const isEmpty = (value) => Object.keys(value).length === 0;
const isScalar = (value) => value === null || typeof value !== 'object' || isEmpty(value);

export function yamlOf(value, indent = '') {
  if (isScalar(value)) return `${indent}${scalar(value)}\n`;
  if (Array.isArray(value)) return value.map((item) => `${indent}- ${yamlOf(item, `${indent}  `).trimStart()}`).join('');
  return Object.entries(value).map(([key, item]) => (isScalar(item)
    ? `${indent}${scalar(key)}: ${scalar(item)}\n`
    : `${indent}${scalar(key)}:\n${yamlOf(item, `${indent}  `)}`)).join('');
}
