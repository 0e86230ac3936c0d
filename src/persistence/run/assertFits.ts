import { toolsByNames } from "../../agent/tool/Tool.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { UnknownToolError } from "../../errors/agent/UnknownToolError.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { assertStrategyFits } from "../record/strategyRecord.ts";
import type { StoredState } from "../start/startRecorder.ts";
import type { DurableCall } from "./DurableCall.ts";

/**
 * Refuses to continue lines that the agents as they are defined now cannot continue.
 *
 * @param nested the states of the lines that go on besides, by lane. Default: none.
 * @throws StrategyChangedError, UnknownNodeError, UnknownToolError
 */
export async function assertFits(
  { setup, journal }: DurableCall,
  { log, state }: StoredState,
  nested: ReadonlyMap<number, AgentState> = new Map(),
): Promise<void> {
  const { agentId, sha256 } = journal;
  for (const [lane, line] of [[state.lane, state] as const, ...nested]) {
    const { agentPath } = linePath(log.index, lane);
    const { graph, tools } = setupAt(setup, agentPath);
    await assertStrategyFits(graph, { agentId, agentPath }, line, log.reader(line), sha256, () => journal.readAll());
    const { checkpoint, settings } = line;
    if (checkpoint && checkpoint.record.node !== "finish") graph.resolve(checkpoint.record.node);
    if (settings) toolsByNames(tools, settings.tools);
  }
}

/** @throws UnknownToolError when an agent no longer has a tool of this name that is a durable agent. */
function setupAt(setup: PersistenceSetup, agentPath: readonly string[]): PersistenceSetup {
  let found = setup;
  for (const name of agentPath) {
    const next = found.at([name]);
    if (!next) throw new UnknownToolError(name, [...found.tools.keys()]);
    found = next;
  }
  return found;
}
