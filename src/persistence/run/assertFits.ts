import { toolsByNames } from "../../agent/tool/Tool.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { assertStrategyFits } from "../record/strategyRecord.ts";
import type { StoredState } from "../start/startRecorder.ts";
import type { DurableCall } from "./DurableCall.ts";

/**
 * Refuses to continue with code that the stored lines do not fit.
 *
 * @param nested the states of the open lines that are nested in the main line.
 * @throws StrategyChangedError, UnknownNodeError, UnknownToolError
 */
export async function assertFits(
  { setup, journal }: Pick<DurableCall, "setup" | "journal">,
  { log, state }: StoredState,
  nested: readonly AgentState[],
): Promise<void> {
  const { agentId, sha256 } = journal;
  for (const line of [state, ...nested]) {
    const { agentPath } = linePath(log.index, line.lane);
    // What called an agent that is gone is refused where it calls it again.
    const own = setup.at(agentPath);
    if (!own) continue;
    const { graph, tools } = own;
    if (line === state || agentPath.length > 0)
      await assertStrategyFits(graph, agentId, line, log.reader(line), sha256, () => journal.readAll());
    const { checkpoint, settings } = line;
    if (checkpoint && checkpoint.record.node !== "finish") graph.resolve(checkpoint.record.node);
    if (settings) toolsByNames(tools, settings.tools);
  }
}
