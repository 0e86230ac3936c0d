/** The fields of an object of the library, such as a message. */
export interface LibraryFields {
  /** Fields with ids, times and numbers, which contain no values of users. */
  readonly names: ReadonlySet<string>;
  /** Fields whose value is one of {@link words}, or a value of users. */
  readonly wordFields: ReadonlySet<string>;
  readonly structures: ReadonlyMap<string, LibraryFields>;
  /** Fields with an object whose keys belong to the library and whose values belong to users. */
  readonly maps?: ReadonlySet<string>;
  readonly values: ReadonlySet<string>;
}

const words: ReadonlySet<string> = new Set(
  (
    "system user assistant tool text reasoning file tool-call tool-result custom read write low medium high " +
    "user_input external_api human_approval timer event"
  ).split(" "),
);

const setOf = (fields: string): ReadonlySet<string> => new Set(fields.split(" "));

export const partFields: LibraryFields = {
  names: setOf("toolCallId isError"),
  wordFields: setOf("type"),
  structures: new Map(),
  values: setOf(
    "text data mediaType filename toolName providerToolCallId providerOptions input output kind code fields name",
  ),
};

export const chatMessageFields: LibraryFields = {
  names: new Set(),
  wordFields: setOf("role"),
  structures: new Map([["content", partFields]]),
  values: setOf("providerOptions"),
};

export const errorFields: LibraryFields = {
  names: new Set(),
  wordFields: new Set(),
  structures: new Map(),
  values: setOf("name message code fields stack"),
};

export const taskFields: LibraryFields = {
  names: setOf("kind priority notBefore expiresAt retries retryDelayMs order"),
  wordFields: setOf("complexity operation"),
  structures: new Map(),
  values: setOf("name path queue key deduplicationId"),
};

/** The fields of status data, and of the parts of records. */
export const recordPartFields: LibraryFields = {
  names: setOf(
    "kind lane at node number call tool asked after key packs redone agentId version taskId createdAt priority " +
      "startedAt lastActivityAt iterationCount accumulatedContext pausedAt snapshot timeoutAt completedAt failedAt " +
      "recoverable retryCount retryAt cancelledAt since retries failedCalls requests",
  ),
  wordFields: setOf("waitingFor estimatedComplexity"),
  structures: new Map([
    ["message", chatMessageFields],
    ["error", errorFields],
    [
      "task",
      {
        ...taskFields,
        structures: new Map([
          ["reserves", taskFields],
          ["controls", taskFields],
        ]),
      },
    ],
    ["reserves", taskFields],
    ["controls", taskFields],
  ]),
  maps: setOf("environment"),
  values: setOf(
    "input path reason expected steps currentAgent currentStep pauseReason resumeInstructions promptShownToUser " +
      "inputRequest finalOutput filesModified verificationResults errorType errorMessage stackTrace decision files " +
      "directory hashes model parameters tools folder code name notBefore expiresAt retryDelayMs",
  ),
};

/** Fields of events and operations with names, ids, times and numbers. */
export const shownNames = setOf(
  "type kind agentId runId at nodeId branch agentPath trigger status previous waitingFor requestId requestIds by step " +
    "checkpointId checkpointIds version iteration progress usage finishReason attempt delayMs from to dropped bytes " +
    "operation toolName toolCallId effect replayed reverted unreverted prunedCheckpoints prunedBytes agentName " +
    "definitionId linkedTrace provider model responseModel responseId toolOutputs",
);

/** Fields of events and operations that contain objects of the library. */
export const shownStructures: ReadonlyMap<string, LibraryFields> = new Map([
  ["data", recordPartFields],
  ["answer", chatMessageFields],
  ["messages", chatMessageFields],
]);

export function isName({ names, wordFields }: LibraryFields, field: string, value: unknown): boolean {
  return names.has(field) || (wordFields.has(field) && typeof value === "string" && words.has(value));
}

/** Returns whether the name of a field belongs to the library. */
export function isLibraryField(fields: LibraryFields, field: string): boolean {
  const { names, wordFields, structures, maps, values } = fields;
  return (
    maps?.has(field) === true || names.has(field) || wordFields.has(field) || structures.has(field) || values.has(field)
  );
}
