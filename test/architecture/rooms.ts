/**
 * The rooms of `src`, from the ground up. A file imports only from its own room and from rooms on lines above its own:
 * rooms on one line do not know each other. The faces of a room that has rooms of its own stand in the room itself, so
 * `persistence` comes after `persistence/run`. The entries in `src` itself may import every room.
 */
export const floors: readonly (readonly string[])[] = [
  ["errors", "checkpoint/status"],
  [
    "errors/agent",
    "errors/checkpoint",
    "errors/model",
    "errors/request",
    "errors/run",
    "errors/session",
    "errors/storage",
    "errors/task",
    "errors/testing",
    "errors/toolCall",
    "errors/workspace",
  ],
  ["internal"],
  ["internal/copy", "internal/sha256"],
  ["internal/options", "node", "checkpoint"],
  ["checkpoint/values"],
  ["checkpoint/records", "checkpoint/messages"],
  ["checkpoint/format", "checkpoint/lines", "telemetry"],
  ["checkpoint/state"],
  ["checkpoint/data"],
  ["checkpoint/pruning", "checkpoint/moment"],
  ["storage"],
  ["storage/ownership"],
  ["storage/memory", "storage/none", "storage/checkpoints", "storage/table", "storage/file/layout"],
  ["storage/sqlite", "storage/postgres", "storage/s3", "storage/dynamodb/items"],
  ["storage/dynamodb/slots"],
  ["storage/dynamodb/lists"],
  ["storage/dynamodb"],
  ["storage/file/index"],
  ["storage/file/owner"],
  ["storage/file/read"],
  ["storage/file/takeover", "storage/file/summary"],
  ["storage/file/compact", "storage/file/salvage"],
  ["storage/file"],
  ["journal/custody", "journal/shape"],
  ["journal"],
  ["transfer"],
  ["inspect/view"],
  ["inspect/log"],
  ["inspect/value", "inspect/place"],
  ["inspect/show"],
  ["inspect"],
  ["agent/context"],
  ["agent/state", "agent/strategy", "agent/tool"],
  ["agent/model"],
  ["agent/feature"],
  ["agent/visit"],
  ["agent/run"],
  ["agent"],
  ["environment", "events"],
  ["persistence/triggers", "persistence/replay", "persistence/versions"],
  ["persistence/inverse"],
  ["persistence/doubt"],
  ["persistence/config"],
  ["persistence/read", "persistence/trimming", "persistence/record"],
  ["persistence/start"],
  ["persistence/waiting", "persistence/move", "persistence/calls", "persistence/migration"],
  ["persistence/retention", "persistence/rollback"],
  ["persistence/run", "persistence/edit"],
  ["persistence"],
  ["task/environment", "task/state"],
  ["task/manager"],
  ["task/recovery"],
  ["task/worker"],
  ["workspace/files", "workspace/merge"],
  ["workspace/git", "workspace/reservations"],
  ["workspace/drift", "workspace/versions"],
  ["workspace/rebase", "workspace/conflicts", "workspace/capture"],
  ["workspace/driftWatch"],
  ["workspace/restore", "workspace/tools"],
  ["workspace"],
  ["coding"],
  ["testing/powerLoss", "testing/support"],
  ["testing/log", "testing/provider"],
  ["testing"],
  ["integrations/ai-sdk", "integrations/openai-agents/session"],
  ["integrations/hosted"],
  ["integrations/ai-sdk-agents/model"],
  ["integrations/ai-sdk-agents", "integrations/openai-agents"],
];

/**
 * What the order alone does not say: a file of the room on the left imports nothing from the rooms on the right, neither
 * from them nor from the rooms in them.
 */
export const strangers: Readonly<Record<string, readonly string[]>> = {
  // The runtime takes Persistence in as it takes a feature of yours.
  agent: ["journal", "storage"],
  // Storage is reached through its contracts.
  journal: [
    "storage/memory",
    "storage/none",
    "storage/checkpoints",
    "storage/file",
    "storage/table",
    "storage/sqlite",
    "storage/postgres",
    "storage/dynamodb",
    "storage/s3",
  ],
  persistence: [
    "storage/memory",
    "storage/file",
    "storage/table",
    "storage/sqlite",
    "storage/postgres",
    "storage/dynamodb",
    "storage/s3",
  ],
  task: ["storage/file", "storage/table", "storage/sqlite", "storage/postgres", "storage/dynamodb", "storage/s3"],
  workspace: [
    "task",
    "storage/file",
    "storage/table",
    "storage/sqlite",
    "storage/postgres",
    "storage/dynamodb",
    "storage/s3",
  ],
  coding: ["persistence", "task", "workspace", "storage", "agent"],
  testing: ["persistence", "task", "workspace", "coding"],
  "integrations/openai-agents": ["task", "workspace", "coding", "testing"],
  "integrations/ai-sdk": ["persistence", "task", "workspace", "coding", "testing", "storage", "journal"],
};

/**
 * Rooms whose own rooms nobody else enters: a file of another room imports only their faces, which are the files that stand
 * in the room itself. The entries in `src` may import every room.
 */
export const enteredByFaces: readonly string[] = ["persistence", "task", "workspace", "testing"];

/** Rooms that are built like a user's own code: besides rooms on lower floors they import the entries in `src`. */
export const builtOnEntries: readonly string[] = ["coding", "integrations/hosted", "integrations/ai-sdk-agents"];
