// What happened to a job, the oldest first: {time, text}. begun: of each attempt the first step that was heard of, which of many
// attempts may be a later one than it began with.

export function momentsOf({createTime, object}, begun) {
  const status = object.status ?? {};
  const moments = [
    {time: createTime, text: 'Created'},
    {time: status.startTime, text: 'Started'},
    ...(status.conditions ?? []).filter((one) => one.status === 'True').map((one) => (
      {time: one.lastTransitionTime, text: [one.type, one.reason, one.message].filter(Boolean).join(' · ')})),
    ...restarts(begun),
    ...checkpointsOf(status).map((one) => ({time: one.time, text: `Checkpoint of step ${one.step}`})),
  ];
  return moments.filter((one) => one.time).sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

// An operator of an earlier version told of the last one alone.
const checkpointsOf = ({checkpoints, lastCheckpoint}) => [...(checkpoints ?? (lastCheckpoint ? [lastCheckpoint] : []))].reverse();
const restarts = (begun) => begun.slice(1).map((one) => ({time: one.time, text: `Restart: attempt ${one.attempt}, by step ${one.step}`}));
