import type { BranchResult } from "./RunRequest.ts";
import type { RecordedRequirements, RunSettings, RunStateSeed } from "../state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { NumberedMessage, MessageNumbers } from "../../checkpoint/messages/MessageHistory.ts";
import type { StoredMessage } from "../../checkpoint/messages/LinkedHistory.ts";
import type { BranchChanges as StoredBranch } from "../../checkpoint/state/BranchChanges.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { RequirementsRecord, SettingsRecord } from "../../checkpoint/records/lineRecords.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import type { ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { freezeInPlace } from "../../internal/frozenCopy.ts";

type ReadValue = (slot: StoredValue) => unknown;

/** Returns the result of a finished branch from its records. `undefined` if the branch has not finished. */
export function storedResult(
  readValue: ReadValue,
  branch: StoredBranch,
  fork: { readonly settings: RunSettings; readonly requirements: RecordedRequirements },
): BranchResult | undefined {
  if (!branch.checkpoint?.record.ended) return undefined;
  const { settings, requirements, history, decisions } = branch;
  const read = ({ number, message }: StoredMessage): NumberedMessage => ({
    number,
    message: readValue(message) as Message,
  });
  return {
    output: readValue(branch.output),
    added: branch.messages.map(read),
    ...(history && { history: history.map(read) }),
    storage: new Map([...branch.storage].map(([key, change]) => [key, change && { value: readValue(change.value) }])),
    settings: settings ? settingsOf(settings, readValue) : fork.settings,
    decisions: decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
    requirements: requirements ? requirementsOf(requirements) : fork.requirements,
    iterations: branch.iterations,
  };
}

export function seedOf(state: AgentState, reader: ValueReader, numbers: MessageNumbers): RunStateSeed {
  const { checkpoint, settings, requirements, decisions } = state;
  const messages = reader.history();
  const { iteration = 0, progress, summary } = checkpoint?.record ?? {};
  return {
    // Without a checkpoint and messages, the history is omitted, so that the run starts with the system prompt.
    ...((checkpoint || messages.length > 0) && { messages }),
    numbers,
    storage: reader.storage(),
    ...(settings && { settings: freezeInPlace(settingsOf(settings, (slot) => reader.read(slot))) }),
    iteration,
    ...withoutUndefined({ progress, progressSummary: summary }),
    decisions: decisions.map(({ decision, reason }) => withoutUndefined({ decision, reason })),
    ...(requirements && { requirements: requirementsOf(requirements) }),
  };
}

function settingsOf({ model, tools, parameters }: SettingsRecord, read: ReadValue): RunSettings {
  if (parameters === undefined) return { model, tools };
  return { model, tools, parameters: read(parameters) as Record<string, unknown> };
}

function requirementsOf({ files, environment, directory, hashes }: RequirementsRecord): RecordedRequirements {
  return withoutUndefined({ files, environment, workingDirectory: directory, hashes });
}
