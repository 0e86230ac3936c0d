import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { ModelRequestEvent } from "../feature/PipelineEvents.ts";
import { checkedResponse } from "../model/checkedResponse.ts";
import type { PromptAnswer } from "../model/PromptExecutor.ts";
import type { AnyTool } from "../tool/Tool.ts";
import { NodeContext } from "./NodeContext.ts";
import type { RequestModel, GivenResponse } from "./NodeLlm.ts";
import type { PlannedCall } from "./NodeTools.ts";

export interface RequestPlace {
  /** The number of the request in its node. If a request fails, the next one gets the same number. */
  readonly ordinal: number;
  /** Returns the library's id of the tool call at an index of the response, even before the response arrives. */
  readonly toolCallId: (index: number) => string;
  readonly signal: AbortSignal;
}

/** The model that another runtime calls, for events and telemetry. A replay does not compare it. */
export interface HostedModel {
  /** Defaults to the name of the agent's model. */
  readonly model?: string | undefined;
  /** The provider of the model, such as `openai`. `undefined` if unknown. */
  readonly provider?: string | undefined;
}

export interface HostedRequest {
  readonly asked?: HostedModel | undefined;
  /** Makes the request. If it fails, the next request gets its number. */
  readonly execute: (place: RequestPlace) => Promise<PromptAnswer>;
}

export interface ResponseToolCall {
  readonly message: AssistantMessage;
  readonly index: number;
  /** The tool, even if the agent does not have it. */
  readonly tool: AnyTool;
  /** The input of the tool. If it equals the input in the response, pass the same object, which is then stored once. */
  readonly input: unknown;
}

/**
 * Makes a model request through `execute`, without retries or timeout. When the node runs again, it finds the recorded
 * response by number, even if the content of the request differs. If a request fails, the next request gets its number.
 */
export async function requestThrough(
  context: AgentContext,
  { asked: hosted, execute }: HostedRequest,
): Promise<GivenResponse> {
  const { scope, llm } = contextOf(context);
  const { visit } = scope;
  const ordinal = scope.nextOrdinal("model");
  const { settings } = visit.state;
  const event: ModelRequestEvent = {
    context,
    visit: visit.at,
    ordinal,
    messages: [],
    model: hosted?.model ?? settings.model,
    ...(hosted?.provider !== undefined && { provider: hosted.provider }),
    tools: [],
    isHosted: true,
  };
  const toolCallId = (index: number) => scope.idAt("model", ordinal, index);
  const { maxToolCallsPerAnswer } = visit.run.definition.modelLimits;
  return scope.start(undefined, (signal) => {
    const ask: RequestModel = async (_event, asked) => {
      try {
        const answer = checkedResponse(await execute({ ordinal, toolCallId, signal }), {
          ...event,
          maxToolCallsPerAnswer,
        });
        visit.run.addUsage(answer.usage);
        const message = scope.withIds(answer.message, "model", ordinal, () => false);
        return (asked.answer = withoutUndefined({ ...answer, message }));
      } catch (error) {
        asked.refusals.add(error);
        throw error;
      }
    };
    return llm.perform(event, signal, ask);
  });
}

/** Makes the call at `index` of the response. @throws ToolFailedError, ToolOutcomeUnknownError */
export async function callOfResponse(context: AgentContext, call: ResponseToolCall): Promise<unknown> {
  const outcome = await contextOf(context).tools.start(plannedOf(call));
  if (outcome.refused) throw outcome.refused;
  return outcome.output;
}

/** Waits until the call at `index` of the response is approved. @throws ToolRejectedError */
export async function approvalOfCall(context: AgentContext, call: ResponseToolCall): Promise<void> {
  const { scope, tools } = contextOf(context);
  const planned = plannedOf({ ...call, tool: { ...call.tool, needsApproval: true } });
  return scope.start(planned.toolCallId, (signal) => tools.approve(planned, planned.input, signal));
}

function plannedOf({ message, index, tool, input }: ResponseToolCall): PlannedCall {
  const part = message.content[index];
  if (typeof part !== "object" || part.type !== "tool-call")
    throw new TypeError(`The response has no tool call at index ${index}.`);
  return { toolCallId: part.toolCallId, tool, input, origin: { kind: "model", message, index } };
}

function contextOf(context: AgentContext): NodeContext {
  if (!(context instanceof NodeContext)) throw new TypeError("Expected the context that a node or a tool received.");
  return context;
}
