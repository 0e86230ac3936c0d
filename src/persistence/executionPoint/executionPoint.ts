import { assertMessage } from "../../agent/model/checkedResponse.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";
import { UnknownNodeError } from "../../errors/strategyErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, checkSchemaAsync, strictOptions } from "../../internal/options/checkSchema.ts";
import { nodeReferenceSchema } from "../saving/CreateCheckpointOptions.ts";
import { z } from "zod";

export const executionPointSchema: z.ZodType = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  nodeId: nodeReferenceSchema,
  input: z.unknown().optional(),
  messageHistory: z.array(z.unknown()).optional(),
}));

export interface ExecutionPoint {
  readonly node: string;
  readonly input: unknown;
  readonly messageHistory?: readonly Message[] | undefined;
}

export interface GivenExecutionPoint extends Omit<ExecutionPoint, "node"> {
  readonly nodeId: string | Node;
}

/**
 * Returns an execution point with a copy of its input. `root` is the path that must contain its node.
 *
 * @throws UnknownNodeError, InvalidInputError, NotSerializableError
 */
export async function executionPointOf(
  graph: StrategyGraph,
  options: GivenExecutionPoint,
  root?: string,
): Promise<ExecutionPoint> {
  const { nodeId, messageHistory } = options;
  const node = graph.resolve(nodeId);
  if (root !== undefined && graph.lineOf(node) !== root)
    throw new UnknownNodeError(
      node,
      graph.nodePaths.filter((path) => graph.lineOf(path) === root),
    );
  const input = frozenCopy(options.input);
  await checkSchemaAsync(graph.inputSchemaOf(node), input, `input of node "${node}"`);
  encodeValue(input, `the input of node "${node}"`);
  if (messageHistory) checkedMessages(messageHistory);
  return { node, input, messageHistory };
}

export function checkedMessages(messages: readonly Message[]): readonly Message[] {
  checkSchema(z.array(z.unknown()), messages, "new history");
  for (const message of messages) {
    assertMessage(message, "message of the new history");
    encodeValue(message, "a message");
  }
  return messages;
}
