// Where a step's time goes, as the planner predicts it.

const kParts = {compute: 'Compute', tensorTraffic: 'Tensor-parallel traffic', idle: 'Pipeline bubble', dataTraffic: 'Data-parallel traffic',
  optimizer: 'Optimizer'};

// Of an estimate's chosen layout, the largest first: [{name, seconds, share}]; empty where nobody knows.
export function stepParts(estimate) {
  const parts = estimate?.report?.candidates?.[0]?.stepParts ?? {};
  const known = Object.entries(kParts).map(([key, name]) => ({name, seconds: Number(parts[key] ?? 0)})).filter((one) => one.seconds > 0);
  const all = known.reduce((sum, one) => sum + one.seconds, 0);
  return known.map((one) => ({...one, share: one.seconds / all})).sort((a, b) => b.seconds - a.seconds);
}

// Whether an estimate is of the layout that a job has.
export function isOfLayout(estimate, plan) {
  const chosen = estimate?.report?.plan;
  return Boolean(chosen && plan) && ['tensor', 'pipeline', 'data'].every((axis) => (chosen[axis] ?? 1) === (plan[axis] ?? 1));
}
