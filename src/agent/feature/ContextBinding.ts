import type { AgentContext } from "../context/AgentContext.ts";
import type { AgentRun } from "./AgentRun.ts";
import type { NodeVisit } from "./PipelineEvents.ts";

/** What a feature may know about a context beyond what it shows to users. It stays readable after the context is closed. */
export interface ContextBinding {
  readonly run: AgentRun;
  readonly visit: NodeVisit;
  /** What the node got, isolated. */
  readonly input: unknown;
  /** The tool call the context was made for. Absent: it is the node's own. */
  readonly call?: { readonly toolCallId: string };
}

const bindings = new WeakMap<AgentContext, ContextBinding>();

/** Ties a context to its binding. */
export function bindContext(context: AgentContext, binding: ContextBinding): void {
  bindings.set(context, binding);
}

/** The run a context belongs to. */
export function runOf(context: AgentContext): AgentRun {
  return bindingOf(context).run;
}

/** Which visit of its node a context belongs to. */
export function visitOf(context: AgentContext): NodeVisit {
  return bindingOf(context).visit;
}

/** What the node of a context got as its input. */
export function nodeInputOf(context: AgentContext): unknown {
  return bindingOf(context).input;
}

/** The tool call a context was given to; `undefined` for the context of a node. */
export function callOf(context: AgentContext): { readonly toolCallId: string } | undefined {
  return bindingOf(context).call;
}

function bindingOf(context: AgentContext): ContextBinding {
  const binding = bindings.get(context);
  if (!binding)
    throw new TypeError(
      "Expected the context that a node or a tool was given, found another object. Pass that very object.",
    );
  return binding;
}
