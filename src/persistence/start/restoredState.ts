import type { RecordedRequirements, RunSettings, RunStateSeed } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { MessageNumbers } from "../../checkpoint/messages/MessageHistory.ts";
import type { RequirementsRecord, SettingsRecord } from "../../checkpoint/records/lineRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

export function seedOf(state: AgentState, reader: ValueReader, numbers: MessageNumbers): RunStateSeed {
  const { checkpoint, settings, requirements, decisions } = state;
  const messages = state.history.map(({ number, message }) => ({ number, message: reader.read(message) as Message }));
  const { iteration = 0, progress, summary } = checkpoint?.record ?? {};
  return {
    // Without a checkpoint, the run starts with an empty history or the history of an earlier run.
    ...((checkpoint || messages.length > 0) && { messages }),
    numbers,
    storage: new Map([...state.storage].map(([key, slot]) => [key, reader.read(slot)])),
    ...(settings && { settings: freezeInPlace(settingsOf(settings, (slot) => reader.read(slot))) }),
    iteration,
    ...withoutUndefined({ progress, progressSummary: summary }),
    decisions: decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
    ...(requirements && { requirements: requirementsOf(requirements) }),
  };
}

export function settingsOf(
  { model, tools, parameters }: SettingsRecord,
  read: (slot: StoredValue) => unknown,
): RunSettings {
  if (parameters === undefined) return { model, tools };
  return { model, tools, parameters: read(parameters) as Record<string, unknown> };
}

export function requirementsOf({ files, environment, directory, hashes }: RequirementsRecord): RecordedRequirements {
  return withoutUndefined({ files, environment, workingDirectory: directory, hashes });
}
