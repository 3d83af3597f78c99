// The steps of a job on its curves.

export const kMostSamples = 20000;

// A step that is trained again stands in for what a former attempt made of it and of what came behind.
export function addSample(samples, one) {
  while (samples.length > 0 && samples.at(-1).step >= one.step) samples.pop();
  samples.push(one);
}

// Every other one of the older half, and all of the younger.
export const thinned = (samples) => samples.filter((_, at) => at % 2 === 0 || at >= samples.length / 2);
