import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import {
  type AgentCheckpointData,
  checkpointDecisions,
  type CheckpointToolCall,
  recoveryInfo,
} from "../../checkpoint/data/AgentCheckpointData.ts";
import { summarizeFileChanges, type FileChange } from "../../checkpoint/data/FileChange.ts";
import { copyMutableParts } from "../../internal/frozenCopy.ts";
import { formatVersion } from "../../checkpoint/records/Entry.ts";
import type { CheckpointRecord } from "../../checkpoint/records/lineRecords.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** Returns a checkpoint that was just saved. Its checksum is empty, because only the storage knows it. */
export function liveCheckpointData(
  recorder: RunRecorder,
  { state, branch, agentPath }: AgentRun,
  record: CheckpointRecord,
  saved: {
    readonly input: unknown;
    readonly parentId: string | undefined;
    readonly first: boolean;
    readonly toolCalls: readonly CheckpointToolCall[];
    readonly fileChanges: readonly FileChange[];
    /** True for the state at the start of the current node, false for the current state. */
    readonly beginning: boolean;
  },
): AgentCheckpointData {
  const { input, parentId, first, toolCalls, fileChanges, beginning } = saved;
  const { model, parameters, tools } = state.settings;
  const { workingDirectory: directory, ...required } = state.requirements;
  return Object.freeze({
    lastInput: copyMutableParts(input),
    ...withoutUndefined({
      checkpointId: record.id ?? `${recorder.journal.generation}-${record.version}`,
      agentId: recorder.journal.agentId,
      runId: recorder.run.run,
      parentId,
      version: record.version,
      createdAt: new Date(record.at).toISOString(),
      runInput: first ? copyMutableParts(recorder.start.input) : undefined,
      nodeId: record.node,
      lastInputType: record.inputType,
      branch,
      agentPath: [...agentPath],
      messageHistory: beginning ? state.history.messagesAtMark : state.history.messages,
      storage: copyMutableParts(
        Object.freeze(Object.fromEntries(beginning ? state.storage.valuesAtMark : state.storage.values)),
      ),
      model,
      modelParameters: parameters,
      tools,
      iteration: record.iteration,
      usage: record.usage,
      status: "in_progress",
      visit: record.visit,
      progress: record.progress,
      progressSummary: record.summary,
      trigger: record.trigger,
      toolCalls,
      decisions: checkpointDecisions(recorder.decisions),
      fileChanges: summarizeFileChanges(fileChanges),
      recoveryInfo: recoveryInfo(record.node, { ...required, ...(directory !== undefined && { directory }) }),
      strategyFingerprint: recorder.structure.fingerprint,
      formatVersion,
      checksum: "",
    }),
  });
}
