import type { RequestRecord } from "../../checkpoint/records/requestRecords.ts";
import type { Visit } from "../../checkpoint/records/Visit.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { CallChanges } from "../state/CallChanges.ts";
import type { RunState } from "../state/RunState.ts";
import type { AgentRun } from "./AgentRun.ts";
import type { EndOrder } from "./EndOrder.ts";
import type { InputRequestEvent, NodeVisit } from "./PipelineEvents.ts";

/** The run, node and tool call of a context. Features can read them even after the context is closed. */
export interface ContextBinding {
  readonly run: AgentRun;
  readonly visit: NodeVisit;
  readonly input: unknown;
  readonly ends: EndOrder;
  readonly execution: BoundExecution;
  /** The tool call that the context was made for. `undefined` for the context of a node. */
  readonly call?: { readonly toolCallId: string };
  /** The ids of the tool calls around this call, innermost first. `undefined` if the node made the call. */
  readonly around?: readonly string[];
}

interface BoundExecution {
  readonly state: RunState;
  /** `undefined` until a tool call changes the state. */
  readonly changes: CallChanges | undefined;
  changesByCalls(): CallChanges;
  /** Starts work that must end before the node ends or waits for input. `within` is the tool call of the work. */
  start<Result>(id: undefined, within: string | undefined, work: () => Promise<Result>): Promise<Result>;
}

const bindings = new WeakMap<AgentContext, ContextBinding>();

export function bindContext(context: AgentContext, binding: ContextBinding): void {
  bindings.set(context, binding);
}

export function runOf(context: AgentContext): AgentRun {
  return bindingOf(context).run;
}

export function visitOf(context: AgentContext): NodeVisit {
  return bindingOf(context).visit;
}

/** Returns the order in which a repeated node receives its recorded results. */
export function endsOf(context: AgentContext): EndOrder {
  return bindingOf(context).ends;
}

/** Returns the node execution of a context. */
export function executionOf(context: AgentContext): BoundExecution {
  return bindingOf(context).execution;
}

/** Returns the input of the node of a context, as a frozen copy. */
export function nodeInputOf(context: AgentContext): unknown {
  return bindingOf(context).input;
}

export function callOf(context: AgentContext): { readonly toolCallId: string } | undefined {
  return bindingOf(context).call;
}

/** Returns the id of the tool call around a request. `undefined` if the node makes the request. */
export function withinOf(context: AgentContext): string | undefined {
  return bindingOf(context).call?.toolCallId;
}

export type InputRequestPlace = {
  readonly [Key in "id" | "ordinal" | "within" | "question"]: RequestRecord[Key] | undefined;
};

export function requestPlace({ request: { id }, question, ordinal, context }: InputRequestEvent): InputRequestPlace {
  return { id, question, ordinal, within: id === undefined ? withinOf(context) : undefined };
}

export function visitIn({ base, ordinal }: NodeVisit): Visit {
  return [base, ordinal];
}

export function callsAround(context: AgentContext): readonly string[] {
  return bindingOf(context).around ?? [];
}

/** Returns the ids of the tool call of a context and of the calls around it, innermost first. */
export function enclosingCalls(context: AgentContext): readonly string[] {
  return [withinOf(context) ?? [], callsAround(context)].flat();
}

function bindingOf(context: AgentContext): ContextBinding {
  const binding = bindings.get(context);
  if (!binding)
    throw new TypeError(
      "Expected the context of a node or a tool, found another object. Pass the context, not a copy.",
    );
  return binding;
}
