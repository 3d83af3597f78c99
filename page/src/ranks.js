// Which node, stage and copy of the model each rank belongs to.

export const kMostRanks = 1024;  // that are shown one by one

// Of a plan's sizes: tensor parallel is the fastest axis, then data, pipeline the slowest. [{rank, node, stage, replica}]
export function ranksOf({tensor = 1, pipeline = 1, data = 1}, devicesPerNode) {
  return Array.from({length: tensor * pipeline * data}, (_, rank) => ({
    rank, node: Math.floor(rank / devicesPerNode), replica: Math.floor(rank / tensor) % data, stage: Math.floor(rank / (tensor * data))}));
}
