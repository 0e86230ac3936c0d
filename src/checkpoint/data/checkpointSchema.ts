import { z } from "zod";

export const requiredFields = [
  "checkpointId",
  "agentId",
  "runId",
  "version",
  "createdAt",
  "nodeId",
  "lastInput",
  "messageHistory",
  "storage",
  "tools",
  "iteration",
  "status",
  "toolCalls",
  "decisions",
  "recoveryInfo",
  "formatVersion",
] as const;

let made: Readonly<Record<string, z.ZodType>> | undefined;

/** Returns the schemas of the decoded fields of a stored checkpoint. Values of users are not restricted. */
export function checkpointFields(): Readonly<Record<string, z.ZodType>> {
  return (made ??= makeFields());
}

function makeFields(): Readonly<Record<string, z.ZodType>> {
  const message = z.looseObject({
    role: z.enum(["system", "user", "assistant", "tool"]),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  });

  const toolCall = z.looseObject({
    toolCallId: z.string(),
    toolName: z.string(),
    effect: z.string(),
    status: z.enum(["succeeded", "failed", "moved", "lost", "unknown"]),
  });

  const branch = z.looseObject({
    path: z.string(),
    nodeId: z.string(),
    messageHistory: z.array(message),
    status: z.enum(["in_progress", "waiting", "completed"]),
  });
  return {
    checkpointId: z.string(),
    name: z.string().optional(),
    agentId: z.string(),
    runId: z.string(),
    parentId: z.string().optional(),
    version: z.int().positive(),
    createdAt: z.iso.datetime(),
    nodeId: z.string(),
    lastInputType: z.string().optional(),
    unresolved: z.boolean().optional(),
    branch: z.string().optional(),
    agentPath: z.array(z.string()),
    branches: z.array(branch).optional(),
    joined: z.string().optional(),
    messageHistory: z.array(message),
    storage: z.record(z.string(), z.unknown()),
    model: z.string().optional(),
    modelParameters: z.record(z.string(), z.unknown()).optional(),
    tools: z.array(z.string()),
    iteration: z.int().nonnegative(),
    usage: z.looseObject({}).optional(),
    status: z.enum(["in_progress", "completed", "cancelled"]),
    by: z.string().optional(),
    reason: z.string().optional(),
    progress: z.number().min(0).max(100).optional(),
    progressSummary: z.string().optional(),
    toolCalls: z.array(toolCall),
    decisions: z.array(z.looseObject({ decision: z.string(), nodeId: z.string(), decidedAt: z.string() })),
    recoveryInfo: z.looseObject({
      resumePoint: z.string(),
      requiredContext: z.array(z.string()),
      environment: z.record(z.string(), z.string()),
      workingDirectory: z.string().optional(),
      fileHashes: z.record(z.string(), z.string().nullable()).optional(),
    }),
    formatVersion: z.int().positive(),
  };
}
