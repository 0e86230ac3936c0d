import type { CheckpointsPage } from "../view/CheckpointView.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { checkpointShower } from "./checkpointView.ts";
import { type PageOptions, pageOf } from "../place/pageOf.ts";

export function checkpoints({ log }: AgentIndex, options: PageOptions): CheckpointsPage {
  const all = [...log.checkpoints.values()];
  const { items, ...cursors } = pageOf(all, ({ version }) => version, options);
  return { checkpoints: items.map(checkpointShower(log)), ...cursors, total: all.length };
}
