import type { AgentCheckpointData, CheckpointToolCall } from "./AgentCheckpointData.ts";
import { UnreadableValueError, UnsupportedFormatError } from "../../errors/storedDataErrors.ts";
import { formatVersion } from "../records/Entry.ts";
import type { Message } from "../messages/Message.ts";
import { decodeValue, encodeValue } from "../values/valueCodec.ts";

/** Encodes a checkpoint for a storage that stores whole checkpoints. @throws NotSerializableError */
export function encodeCheckpoint(data: AgentCheckpointData): AgentCheckpointData {
  return JSON.parse(JSON.stringify(mapValues(data, encodeValue))) as AgentCheckpointData;
}

/** Decodes the result of {@link encodeCheckpoint}. @throws UnreadableValueError, UnsupportedFormatError */
export function decodeCheckpoint(data: AgentCheckpointData): AgentCheckpointData {
  if (!isCheckpoint(data)) throw new UnreadableValueError("the storage returned an invalid checkpoint");
  if (data.formatVersion > formatVersion) {
    throw new UnsupportedFormatError(
      `Checkpoint ${JSON.stringify(data.checkpointId)}`,
      data.formatVersion,
      formatVersion,
    );
  }
  const decoded = mapValues(structuredClone(data), decodeValue);
  // In format 1, `agentPath` contains subgraphs.
  return data.formatVersion === 1 ? { ...decoded, agentPath: [] } : decoded;
}

/** Checks the fields that other code relies on, because stored data is untrusted. */
function isCheckpoint(data: unknown): boolean {
  if (typeof data !== "object" || data === null) return false;
  const { checkpointId, runId, nodeId, version, messageHistory, storage, toolCalls, decisions, tools, recoveryInfo } =
    data as Partial<Record<keyof AgentCheckpointData, unknown>>;
  const { visit = [] } = data as Partial<Record<keyof AgentCheckpointData, unknown>>;
  const texts = [checkpointId, runId, nodeId].every((text) => typeof text === "string");
  const lists = [messageHistory, toolCalls, decisions, tools].every((list) => Array.isArray(list));
  const objects = [storage, recoveryInfo].every((object) => typeof object === "object" && object !== null);
  const numbers =
    Array.isArray(visit) && [version, ...(visit as unknown[])].every((value) => Number.isSafeInteger(value));
  return texts && lists && objects && numbers;
}

type Convert = (value: unknown, subject: string) => unknown;

function mapValues(data: AgentCheckpointData, convert: Convert): AgentCheckpointData {
  return {
    ...data,
    ...("runInput" in data && { runInput: convert(data.runInput, "the input of the run") }),
    lastInput: convert(data.lastInput, `the input of node ${JSON.stringify(data.nodeId)}`),
    messageHistory: data.messageHistory.map((message) => convert(message, "a message") as Message),
    storage: mapEntries(data.storage, (value, key) => convert(value, `storage key ${JSON.stringify(key)}`)),
    ...(data.modelParameters && {
      modelParameters: convert(data.modelParameters, "the model parameters") as Record<string, unknown>,
    }),
    toolCalls: data.toolCalls.map((call) => mapCall(call, convert)),
    ...(data.branches && {
      branches: data.branches.map((branch) => ({
        ...branch,
        lastInput: convert(branch.lastInput, `the input of branch ${JSON.stringify(branch.path)}`),
        messageHistory: branch.messageHistory.map((message) => convert(message, "a message") as Message),
        ...("output" in branch && {
          output: convert(branch.output, `the output of branch ${JSON.stringify(branch.path)}`),
        }),
      })),
    }),
  };
}

function mapCall(call: CheckpointToolCall, convert: Convert): CheckpointToolCall {
  return {
    ...call,
    input: convert(call.input, `the input of tool ${call.toolName}`),
    ...("output" in call && { output: convert(call.output, `the output of tool ${call.toolName}`) }),
  };
}

function mapEntries(
  record: Readonly<Record<string, unknown>>,
  convert: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, convert(value, key)]));
}
