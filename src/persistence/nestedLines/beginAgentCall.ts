import type { AgentCallBeginning, AgentCallEvent } from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { LanePlace } from "../../checkpoint/records/lineRecords.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import { FeatureNotInstalledError, UnknownToolError } from "../../errors/agentErrors.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import { newLine, restoredLine } from "./startRecorder.ts";
import { structureRecord, structureReference } from "../record/strategyRecord.ts";

type Next = (event: AgentCallEvent) => Promise<AgentCallBeginning>;

/**
 * Starts an agent for a tool call of a durable run on a new lane, or continues it from the log. A finished agent does
 * not run again.
 *
 * @throws FeatureNotInstalledError if the agent has no Persistence.
 * @throws UnknownToolError if the agent is not a tool of its caller.
 */
export async function beginAgentCall(
  recorders: RunRecorders,
  event: AgentCallEvent,
  next: Next,
): Promise<AgentCallBeginning> {
  const beginning = await next(event);
  if ("output" in beginning) return beginning;
  const { callee, toolName, toolCallId } = event;
  const parent = recorders.of(event.run);
  const setup = parent.setup.nested(callee);
  if (!setup) {
    const advice = "Add .install(Persistence); it needs no storage.";
    throw new FeatureNotInstalledError("Persistence", `The agent that tool "${toolName}" calls`, advice);
  }
  // A resume or a rollback finds the agent by the name of its tool.
  if (parent.setup.at([toolName]) !== setup) throw new UnknownToolError(toolName, [...parent.setup.tools.keys()]);
  const place = { parent: parent.lane, call: toolCallId };
  const { stored: log } = parent;
  const line = log?.index.lines.lineOf(place);
  const ended = log && line && outputOf(log, line.lane);
  if (ended) return ended;
  const recorder =
    log && line
      ? restoredLine(parent, setup, {
          what: "an agent",
          log,
          lane: line.lane,
          place,
          lanes: line.lanes.map(([lane]) => lane),
        })
      : begun(parent, setup, place, beginning.start);
  recorders.add(recorder);
  return { start: recorder.start };
}

function outputOf(log: AgentLog, lane: number): { readonly output: unknown } | undefined {
  const { record, order } = log.index.latestOf(lane) ?? {};
  return record?.ended ? { output: log.readValue(lineValue(log.index, lane, record.input, order)) } : undefined;
}

function begun(parent: RunRecorder, setup: PersistenceSetup, place: LanePlace, start: RunStart): RunRecorder {
  const { journal } = parent;
  const structure = structureRecord(setup, 0, journal);
  const opening = (lane: number): readonly AgentRecord[] => [
    { kind: "lane", lane, place, keep: "nothing" },
    structureReference({ ...structure, lane }, journal),
  ];
  return newLine(parent, setup, start, { place, structure, opening });
}
