import type { TelemetryOperation } from "../../telemetry/TelemetryOperation.ts";

/** Builds a span name of low cardinality, which contains models, tools and agent names but never ids. */
export function spanNameOf({ kind, model, agentName, toolName }: TelemetryOperation): string {
  switch (kind) {
    case "chat":
      return named(kind, model);
    case "invoke_agent":
      return named(kind, agentName);
    case "execute_tool":
      return named(kind, toolName);
    default:
      return `agent_persistence.${kind}`;
  }
}

function named(kind: string, name: string | undefined): string {
  return name === undefined ? kind : `${kind} ${name}`;
}
