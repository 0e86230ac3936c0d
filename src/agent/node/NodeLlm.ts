import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { withinTime } from "../../internal/abortable.ts";
import { ModelAnswerCutError, ModelTimeoutError } from "../../errors/modelErrors.ts";
import { textOf } from "../model/nodes.ts";
import { type FailedTry, retried } from "../model/ModelRetry.ts";
import type { AgentLlm } from "../context/AgentContext.ts";
import { checkedResponse, assertMessage } from "../model/checkedResponse.ts";
import type { ModelDelta, PromptAnswer, PromptRequest } from "../model/PromptExecutor.ts";
import { ReplayedModelError } from "../model/ReplayedModelError.ts";
import type { CallScope } from "./CallScope.ts";
import type { DeltaPlace } from "./DeltaSender.ts";
import { answerKey } from "../../checkpoint/records/Visit.ts";
import type { ModelRequestEvent } from "../feature/PipelineEvents.ts";
import type { RunSettings } from "../state/RunState.ts";
import { namesOfTools, toolsByNames } from "../tool/Tool.ts";

const requestShape = {
  model: nonEmptyString.optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
};
const historySchema = z.array(z.unknown());
const requestSchema = strictOptions(() => requestShape);
const configurationSchema = strictOptions(() => ({
  ...requestShape,
  parameters: z.record(z.string(), z.unknown()).optional(),
}));

type RequestOptions = NonNullable<Parameters<AgentLlm["request"]>[0]>;

export class NodeLlm implements AgentLlm {
  readonly #scope: CallScope;

  constructor(scope: CallScope) {
    this.#scope = scope;
  }

  get messages(): readonly Message[] {
    this.#scope.visit.assertOpen();
    return this.#scope.visit.state.history.messages;
  }

  append(...messages: readonly Message[]): void {
    for (const message of messages) assertMessage(message, "message to append");
    this.#scope.changeHistory((history) => history.append(...messages));
  }

  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void {
    const checkedChange = (messages: readonly Message[]) => {
      const changed = checkSchema(historySchema, change(messages), "new history") as readonly Message[];
      // Validates only messages that were not in the old history.
      const known = new Set(messages);
      for (const message of changed) if (!known.has(message)) assertMessage(message, "message of the new history");
      return changed;
    };
    this.#scope.changeHistory((history) => history.rewrite(checkedChange));
  }

  configure(settings: Parameters<AgentLlm["configure"]>[0]): void {
    checkSchema(configurationSchema, settings, "settings of the model");
    const { model, parameters, tools } = settings;
    const changed = {
      ...(model !== undefined && { model }),
      ...(parameters && { parameters }),
      ...(tools && { tools: namesOfTools(this.#scope.visit.run.tools, tools) }),
    };
    const slots = Object.keys(changed) as (keyof RunSettings)[];
    this.#scope.change((state) => state.configure(changed), { slots });
  }

  async request(options?: RequestOptions): Promise<AssistantMessage> {
    this.#scope.visit.assertOpen();
    if (options !== undefined) checkSchema(requestSchema, options, "options of the model request");
    const event = this.#event(options, this.#scope.nextOrdinal("model"));
    return (await this.#scope.start(undefined, (signal) => this.perform(event, signal))).message;
  }

  #event(options: RequestOptions | undefined, ordinal: number): ModelRequestEvent {
    const { visit, context } = this.#scope;
    const { settings, history } = visit.state;
    const { tools } = visit.run;
    return {
      context,
      visit: visit.at,
      ordinal,
      messages: history.messages,
      model: options?.model ?? settings.model,
      ...(settings.parameters && { parameters: settings.parameters }),
      tools: toolsByNames(tools, options?.tools ? namesOfTools(tools, options.tools) : settings.tools),
    };
  }

  /** @param request Makes the request. Defaults to a request to the agent's executor, with retries and a timeout. */
  async perform(
    event: ModelRequestEvent,
    signal: AbortSignal,
    request: RequestModel = (accepted, asked) => this.#ask(accepted, signal, asked),
  ): Promise<GivenResponse> {
    const { visit } = this.#scope;
    await visit.emit("modelRequestStarting", event);
    const asked: RequestAttempt = { refusals: new Set() };
    let response: PromptAnswer;
    try {
      response = await visit.run.pipeline.around("modelRequest", event, (accepted) => request(accepted, asked));
    } catch (error) {
      await visit.emit("modelRequestFailed", { ...event, error });
      if (signal.aborted) throw error;
      if (!asked.refusals.has(error) && !(error instanceof ReplayedModelError)) return visit.fail(error);
      this.#scope.vacate(event.ordinal);
      throw error;
    }
    const message = this.#scope.withIds(response.message, "model", event.ordinal);
    visit.run.deltas?.end(this.#placeOf(event), message);
    const given = { ...response, message, replayed: asked.answer === undefined };
    await visit.emit("modelRequestCompleted", { ...event, ...given });
    return given;
  }

  async #ask(event: ModelRequestEvent, abortSignal: AbortSignal, asked: RequestAttempt): Promise<PromptAnswer> {
    const { visit } = this.#scope;
    const { retry } = visit.run.definition.modelLimits;
    const { clock } = visit.run.abortGrace;
    const onRetry = (failed: FailedTry) => visit.emit("modelRequestRetrying", { ...event, ...failed });
    const answer = await retried(() => this.#try(event, abortSignal, asked), retry, {
      clock,
      signal: abortSignal,
      onRetry,
    });
    return (asked.answer = answer);
  }

  async #try(event: ModelRequestEvent, abortSignal: AbortSignal, asked: RequestAttempt): Promise<PromptAnswer> {
    const { messages, tools, model, parameters, ordinal } = event;
    const { definition, abortGrace, deltas } = this.#scope.visit.run;
    const { timeoutMs: ms, acceptCutAnswers, maxToolCallsPerAnswer } = definition.modelLimits;
    const { clock } = abortGrace;
    deltas?.begin(this.#placeOf(event));
    try {
      const request = { messages, tools, model, ...(parameters && { parameters }) };
      const answer = await withinTime(
        { ms, clock, late: () => new ModelTimeoutError(model, ms) },
        abortSignal,
        (signal) => this.#execute({ ...request, abortSignal: signal }, event),
      );
      this.#addUsage(answer);
      const { message, usage, finishReason } = checkedResponse(answer, { model, maxToolCallsPerAnswer });
      if (finishReason === "length" && !acceptCutAnswers) throw new ModelAnswerCutError(model, textOf(message));
      const issued = this.#scope.withIds(message, "model", ordinal, () => false);
      return withoutUndefined({ message: issued, usage, finishReason });
    } catch (error) {
      this.#addUsage(error);
      asked.refusals.add(error);
      throw error;
    }
  }

  async #execute(request: PromptRequest, event: ModelRequestEvent): Promise<PromptAnswer> {
    const { definition, deltas } = this.#scope.visit.run;
    const { promptExecutor } = definition;
    if (!deltas || !promptExecutor.stream) return promptExecutor.execute(request);
    const place = this.#placeOf(event);
    let isOpen = true;
    const onDelta = ({ type, text }: ModelDelta) => {
      if (isOpen && !request.abortSignal.aborted) deltas.piece({ type, text, ...place });
    };
    try {
      return await promptExecutor.stream(request, onDelta);
    } finally {
      isOpen = false;
    }
  }

  #placeOf({ visit: { base, ordinal: visit }, ordinal }: ModelRequestEvent): DeltaPlace {
    const { visit: execution, call } = this.#scope;
    const { branch, agentPath } = execution.run;
    return {
      nodeId: execution.nodeId,
      ...(branch !== undefined && { branch }),
      ...(agentPath.length > 0 && { agentPath }),
      requestId: answerKey([base, visit], ordinal, call?.toolCallId),
    };
  }

  /** Adds the tokens of a response, or of a rejected response whose error reports them. */
  #addUsage(source: unknown): void {
    this.#scope.visit.run.addUsage((Object(source) as { readonly usage?: unknown }).usage);
  }
}

export interface GivenResponse extends PromptAnswer {
  /** True if the response was recorded earlier, so that no model was called. */
  readonly replayed: boolean;
}

export type RequestModel = (event: ModelRequestEvent, asked: RequestAttempt) => Promise<PromptAnswer>;

export interface RequestAttempt {
  answer?: PromptAnswer;
  /** Errors of the executor, which a node can catch, unlike errors of features. */
  readonly refusals: Set<unknown>;
}
