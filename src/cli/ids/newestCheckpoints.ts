import type { AgentInspector, CheckpointView } from "../../inspect.ts";

const pageSize = 500;

/** Returns up to `most` newest checkpoints of an agent, oldest first, and their total number. */
export async function newestCheckpoints(
  view: AgentInspector,
  agentId: string,
  most: number,
): Promise<{ readonly checkpoints: readonly CheckpointView[]; readonly total: number }> {
  const pages: (readonly CheckpointView[])[] = [];
  let [left, before]: [number, number | undefined] = [most, undefined];
  for (;;) {
    const limit = Math.min(left, pageSize);
    const page = await view.checkpoints(agentId, { limit, ...(before !== undefined && { before }) });
    pages.unshift(page.checkpoints);
    left -= page.checkpoints.length;
    ({ before } = page);
    if (left <= 0 || before === undefined) return { checkpoints: pages.flat(), total: page.total };
  }
}
