import type { TelemetryOperation } from "../../telemetry/TelemetryOperation.ts";

/** Names of spans have few values: models, tools and definitions are in them, ids are not. */
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
