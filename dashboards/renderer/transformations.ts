// The two transformations that our tables have.
import { DataFrame, Field, FieldType, toDataFrame } from '@grafana/data';

type Row = Record<string, unknown>;

// Rows that agree in all columns which both have become one.
function merge(frames: DataFrame[]): DataFrame {
  const columns = new Map<string, Field>();
  let rows: Row[] = [];
  for (const frame of frames) {
    const known = frame.fields.map((field) => field.name).filter((name) => columns.has(name));
    for (const field of frame.fields) columns.set(field.name, columns.get(field.name) ?? field);
    for (let index = 0; index < frame.length; ++index) {
      const row: Row = Object.fromEntries(frame.fields.map((field) => [field.name, field.values[index]]));
      const same = rows.filter((other) => known.length > 0 && known.every((name) => other[name] === row[name]));
      if (same.length === 0) rows.push(row);
      else same.forEach((other) => Object.assign(other, row));
    }
  }
  return toDataFrame({
    fields: [...columns].map(([name, field]) => ({ name, type: field.type, values: rows.map((row) => row[name] ?? null) })),
  });
}

interface Organize { excludeByName: Record<string, boolean>; indexByName: Record<string, number>; renameByName: Record<string, string> }

function organize(frame: DataFrame, options: Organize): DataFrame {
  const place = (field: Field) => options.indexByName[field.name] ?? Infinity;
  const fields = frame.fields
    .filter((field) => !options.excludeByName[field.name])
    .sort((left, right) => place(left) - place(right))
    .map((field) => ({ ...field, name: options.renameByName[field.name] ?? field.name }));
  return { ...frame, fields };
}

export function transform(frames: DataFrame[], steps: Array<{ id: string; options: any }>): DataFrame[] {
  for (const step of steps) {
    if (step.id === 'merge') frames = [merge(frames)];
    else if (step.id === 'organize') frames = frames.map((frame) => organize(frame, step.options));
    else throw new Error(`the transformation ${step.id} is not known here`);
  }
  return frames;
}

// As the table's sortBy says, the first of them only.
export function sortRows(frame: DataFrame, sortBy: Array<{ displayName: string; desc: boolean }> = []): DataFrame {
  const by = frame.fields.find((field) => field.name === sortBy[0]?.displayName);
  if (!by) return frame;
  const sign = sortBy[0].desc ? -1 : 1;
  const order = [...by.values.keys()].sort((a, b) => {
    if (by.type === FieldType.number) return sign * (Number(by.values[a]) - Number(by.values[b]));
    return sign * String(by.values[a]).localeCompare(String(by.values[b]));
  });
  return { ...frame, fields: frame.fields.map((field) => ({ ...field, values: order.map((index) => field.values[index]) })) };
}
