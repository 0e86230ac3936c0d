import type { AssistantMessage, Message } from "../../checkpoint/messages/Message.ts";
import { z } from "zod";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { abortable } from "../../internal/abortable.ts";
import type { AgentContext, AgentLlm } from "../context/AgentContext.ts";
import { assertMessage } from "../model/assertMessage.ts";
import type { CallScope } from "./CallScope.ts";
import type { ModelRequestEvent } from "../feature/PipelineEvents.ts";
import type { RunSettings } from "../state/RunState.ts";
import { namesOfTools, toolsByNames } from "../tool/toolNames.ts";
import { withToolCallIds } from "../tool/withToolCallIds.ts";

const requestShape = {
  model: nonEmptyString.optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
};
const requestSchema = strictOptions(requestShape);
const configurationSchema = strictOptions({
  ...requestShape,
  parameters: z.record(z.string(), z.unknown()).optional(),
});

type Configuration = Parameters<AgentLlm["configure"]>[0];
type RequestOptions = NonNullable<Parameters<AgentLlm["request"]>[0]>;

/** The history and the model of one context. */
export class NodeLlm implements AgentLlm {
  readonly #scope: CallScope;
  readonly #context: AgentContext;

  constructor(scope: CallScope, context: AgentContext) {
    this.#scope = scope;
    this.#context = context;
  }

  get messages(): readonly Message[] {
    return this.#state.history.messages;
  }

  append(...messages: readonly Message[]): void {
    const { history } = this.#state;
    for (const message of messages) assertMessage(message, "message to append");
    history.append(...messages);
  }

  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void {
    this.#state.history.rewrite((messages) => {
      const changed = change(messages);
      // What was there before was checked when it came.
      const known = new Set(messages);
      for (const message of changed) if (!known.has(message)) assertMessage(message, "message of the new history");
      return changed;
    });
  }

  configure(settings: Configuration): void {
    const state = this.#state;
    checkSchema(configurationSchema, settings, "settings of the model");
    const { model, parameters, tools } = settings;
    const change: Partial<RunSettings> = {
      ...(model !== undefined && { model }),
      ...(parameters && { parameters }),
      ...(tools && { tools: namesOfTools(this.#scope.visit.run.tools, tools) }),
    };
    state.configure(change);
  }

  async request(options?: RequestOptions): Promise<AssistantMessage> {
    const { visit } = this.#scope;
    visit.assertOpen();
    if (options !== undefined) checkSchema(requestSchema, options, "options of the model request");
    const event = this.#event(options, this.#scope.nextOrdinal("m"));
    return visit.start({ within: this.#scope.call?.toolCallId }, (signal) => this.#perform(event, signal));
  }

  get #state() {
    this.#scope.visit.assertOpen();
    return this.#scope.visit.state;
  }

  #event(options: RequestOptions | undefined, ordinal: number): ModelRequestEvent {
    const { at, run, state } = this.#scope.visit;
    const { settings } = state;
    return {
      context: this.#context,
      visit: at,
      ordinal,
      messages: state.history.messages,
      model: options?.model ?? settings.model,
      ...(settings.parameters && { parameters: settings.parameters }),
      tools: toolsByNames(run.tools, options?.tools ? namesOfTools(run.tools, options.tools) : settings.tools),
    };
  }

  async #perform(event: ModelRequestEvent, signal: AbortSignal): Promise<AssistantMessage> {
    const { visit } = this.#scope;
    await visit.tell("modelRequestStarting", event);
    const refusals = new Set<unknown>();
    let answer: AssistantMessage;
    try {
      answer = await visit.run.pipeline.around("modelRequest", event, (accepted) =>
        this.#ask(accepted, signal, refusals),
      );
    } catch (error) {
      await visit.tell("modelRequestFailed", { ...event, error });
      if (signal.aborted || refusals.has(error)) throw error;
      return visit.fail(error);
    }
    const message = this.#issueIds(answer, event.ordinal, (id) => this.#scope.issued(id));
    await visit.tell("modelRequestCompleted", { ...event, message });
    return message;
  }

  /** @param refusals gets what the executor throws, which a node may catch, unlike what a feature throws. */
  async #ask(
    { messages, tools, model, parameters, ordinal }: ModelRequestEvent,
    abortSignal: AbortSignal,
    refusals: Set<unknown>,
  ): Promise<AssistantMessage> {
    const { promptExecutor } = this.#scope.visit.run.definition;
    try {
      const request = { messages, tools, model, ...(parameters && { parameters }), abortSignal };
      const { message } = await abortable(abortSignal, () => promptExecutor.execute(request));
      assertMessage(message, "answer of the model", "assistant");
      return this.#issueIds(message, ordinal, () => false);
    } catch (error) {
      refusals.add(error);
      throw error;
    }
  }

  #issueIds(message: AssistantMessage, ordinal: number, keeps: (id: string) => boolean): AssistantMessage {
    return withToolCallIds(frozenCopy(message), (index) => this.#scope.idAt("m", ordinal, index), keeps);
  }
}
