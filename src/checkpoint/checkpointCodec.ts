import type { AgentCheckpointData, CheckpointToolCall } from "./AgentCheckpointData.ts";
import type { Message } from "./Message.ts";
import { decodeValue, encodeValue } from "./valueCodec.ts";

/**
 * A checkpoint as plain JSON, for a storage that keeps checkpoints whole. Only values of users are encoded; the rest is
 * plain already. @throws NotSerializableError
 */
export function encodeCheckpoint(data: AgentCheckpointData): AgentCheckpointData {
  return JSON.parse(JSON.stringify(mapValues(data, encodeValue))) as AgentCheckpointData;
}

/** The inverse of {@link encodeCheckpoint}. @throws UnreadableValueError */
export function decodeCheckpoint(data: AgentCheckpointData): AgentCheckpointData {
  return mapValues(structuredClone(data), decodeValue);
}

type Convert = (value: unknown, subject: string) => unknown;

function mapValues(data: AgentCheckpointData, convert: Convert): AgentCheckpointData {
  return {
    ...data,
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
