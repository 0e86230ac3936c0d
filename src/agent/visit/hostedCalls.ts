import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { ModelRequestEvent } from "../feature/PipelineEvents.ts";
import { checkedAnswer } from "../model/checkedAnswer.ts";
import type { PromptAnswer } from "../model/PromptExecutor.ts";
import type { AnyTool } from "../tool/Tool.ts";
import { NodeContext } from "./NodeContext.ts";
import type { AskModel, GivenAnswer } from "./NodeLlm.ts";
import type { PlannedCall } from "./NodeTools.ts";

/** Where an answer is recorded that another runtime asks for. */
export interface RequestPlace {
  /** The library's id of the tool call at an index of the answer's content, known before the answer is. */
  readonly toolCallId: (index: number) => string;
  /** Aborted when the run is aborted or moves. */
  readonly signal: AbortSignal;
}

/** The model that another runtime asks, for those who look on: another one counts as the same request. */
export interface HostedModel {
  /** Its name. Absent: that of the agent's model. */
  readonly model?: string | undefined;
  /** Whose it is, such as `openai`. Absent: unknown. */
  readonly provider?: string | undefined;
}

/** A request that another runtime makes. */
export interface HostedRequest {
  /** Absent: nothing is known of it. */
  readonly asked?: HostedModel | undefined;
  /** What it throws takes no place. */
  readonly execute: (place: RequestPlace) => Promise<PromptAnswer>;
}

/** A call that an answer asks for, as another runtime makes it. */
export interface AnsweredCall {
  readonly message: AssistantMessage;
  /** Of the call in the content of the message. */
  readonly index: number;
  /** One that the agent may not have. */
  readonly tool: AnyTool;
  /** As the tool gets it; that of the answer itself if it is the same, so that it is not stored again. */
  readonly input: unknown;
}

/**
 * A model request that `execute` answers in place of the agent's executor: once, and without a limit of time. It is found by
 * its number alone when the node runs again: what it asks may be another then. What `execute` throws takes no place.
 */
export async function requestThrough(
  context: AgentContext,
  { asked: hosted, execute }: HostedRequest,
): Promise<GivenAnswer> {
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
    const ask: AskModel = async (_event, asked) => {
      try {
        const answer = checkedAnswer(await execute({ toolCallId, signal }), { ...event, maxToolCallsPerAnswer });
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

/**
 * Makes the call at an index of an answer.
 *
 * @throws ToolFailedError, ToolOutcomeUnknownError; any other error fails the run.
 */
export async function callOfAnswer(context: AgentContext, call: AnsweredCall): Promise<unknown> {
  const outcome = await contextOf(context).tools.start(plannedOf(call));
  if (outcome.refused) throw outcome.refused;
  return outcome.output;
}

/** Waits until the call at an index of an answer is approved. @throws ToolRejectedError */
export async function approvalOfCall(context: AgentContext, call: AnsweredCall): Promise<void> {
  const { scope, tools } = contextOf(context);
  const planned = plannedOf({ ...call, tool: { ...call.tool, needsApproval: true } });
  return scope.start(planned.toolCallId, (signal) => tools.approve(planned, planned.input, signal));
}

function plannedOf({ message, index, tool, input }: AnsweredCall): PlannedCall {
  const part = message.content[index];
  if (typeof part !== "object" || part.type !== "tool-call")
    throw new TypeError(`The answer has no tool call at index ${index}.`);
  return { toolCallId: part.toolCallId, tool, input, origin: { kind: "model", message, index } };
}

function contextOf(context: AgentContext): NodeContext {
  if (!(context instanceof NodeContext)) throw new TypeError("Expected the context that a node or a tool received.");
  return context;
}
