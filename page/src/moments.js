// What happened to a job, the oldest first: {time, text}. Attempts are told by the first step of each that was heard of.

export function momentsOf({createTime, object}, samples) {
  const status = object.status ?? {};
  const moments = [
    {time: createTime, text: 'Created'},
    {time: status.startTime, text: 'Started'},
    ...(status.conditions ?? []).filter((one) => one.status === 'True').map((one) => (
      {time: one.lastTransitionTime, text: [one.type, one.reason, one.message].filter(Boolean).join(' · ')})),
    ...attempts(samples),
  ];
  const last = status.lastCheckpoint;
  if (last) moments.push({time: last.time, text: `Checkpoint of step ${last.step ?? 0}`});
  return moments.filter((one) => one.time).sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function attempts(samples) {
  const begun = samples.filter((one, at) => at > 0 && one.attempt !== samples[at - 1].attempt);
  return begun.map((one) => ({time: one.time, text: `Restart: attempt ${one.attempt} from step ${one.step}`}));
}
