import type { AgentContext } from "../context/AgentContext.ts";
import type { AgentRun } from "./AgentRun.ts";
import type { NodeVisit } from "./PipelineEvents.ts";

/** What features know about a context beyond its members. It stays readable after the context is closed. */
export interface ContextBinding {
  readonly run: AgentRun;
  readonly visit: NodeVisit;
  /** The input of the node, as a frozen copy. */
  readonly input: unknown;
  /** The tool call that the context was made for. Absent: it is the node's own. */
  readonly call?: { readonly toolCallId: string };
  /** The calls that this call is made in, innermost first. Absent: there is none. */
  readonly around?: readonly string[];
}

const bindings = new WeakMap<AgentContext, ContextBinding>();

export function bindContext(context: AgentContext, binding: ContextBinding): void {
  bindings.set(context, binding);
}

/** The run a context belongs to. */
export function runOf(context: AgentContext): AgentRun {
  return bindingOf(context).run;
}

/** The visit that a context belongs to. */
export function visitOf(context: AgentContext): NodeVisit {
  return bindingOf(context).visit;
}

/** The input of the node that a context belongs to. */
export function nodeInputOf(context: AgentContext): unknown {
  return bindingOf(context).input;
}

/** The tool call that a context was made for; `undefined` for the context of a node. */
export function callOf(context: AgentContext): { readonly toolCallId: string } | undefined {
  return bindingOf(context).call;
}

/** The tool calls around the one that a context was made for, innermost first. */
export function callsAround(context: AgentContext): readonly string[] {
  return bindingOf(context).around ?? [];
}

function bindingOf(context: AgentContext): ContextBinding {
  const binding = bindings.get(context);
  if (!binding)
    throw new TypeError(
      "Expected the context that a node or a tool received, found another object. Pass the context itself, not a copy.",
    );
  return binding;
}
