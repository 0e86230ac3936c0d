import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { Node } from "../../agent/strategy/Strategy.ts";
import { isSameVisit, type Visit } from "../../checkpoint/records/Visit.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { customSchema, zodSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

export interface CreateCheckpointOptions<Input> {
  /** The context of the run. Defaults to the bound context. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * The node that runs next, with the current history and storage. Defaults to the running node, with its input and
   * with the history and storage from its start. A resume then repeats this node and replays its calls.
   */
  readonly nodeId?: string | Node<Input> | undefined;
  /** The input of `nodeId`. Defaults to the input of the running node. */
  readonly lastInput?: NoInfer<Input>;
  /** Validates `lastInput`. Stored as JSON Schema. */
  readonly lastInputType?: z.core.$ZodType<Input> | undefined;
  /**
   * An id of 1 to 256 characters, not of the form `<number>-<number>`, which generated ids have. When a node is
   * repeated, it gets the checkpoint that it made with this id.
   */
  readonly checkpointId?: string | undefined;
  /** A version above that of every earlier checkpoint, at most 2^52. Defaults to the next version. */
  readonly version?: number | undefined;
}

/** Checks only the form of a node reference. The graph checks whether the node exists. */
export const nodeReferenceSchema: z.ZodType = customSchema(
  "the path of a node, or what graph.node returned",
  (value) => typeof (typeof value === "object" ? (value as Node | null)?.name : value) === "string",
);

export const createCheckpointSchema: z.ZodType = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  nodeId: nodeReferenceSchema.optional(),
  lastInput: z.unknown().optional(),
  lastInputType: zodSchema.optional(),
  checkpointId: z.string().optional(),
  version: z.number().optional(),
}));

/** The checkpoints in the current history that `createCheckpoint` made. */
export class NamedCheckpoints {
  readonly #ids = new Set<string>();
  #recorded: Iterable<CheckpointPoint>;

  /** @param recorded The checkpoints in the log, which are read at the first use. */
  constructor(recorded: Iterable<CheckpointPoint> = []) {
    this.#recorded = recorded;
  }

  #read(): CheckpointPoint[] {
    const recorded = [...this.#recorded];
    for (const { id } of recorded) this.#ids.add(id);
    this.#recorded = recorded;
    return recorded;
  }

  has(id: string): boolean {
    this.#read();
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  /**
   * Returns the id of the checkpoint that the interrupted node made with this id or version, and removes it. Without
   * both, returns the oldest checkpoint with a generated id. A second checkpoint would be later in the log than the
   * node's recorded calls, so that a rollback to it would not revert them.
   */
  takeAgain(
    { checkpointId, nodeId, version = 0 }: Omit<CreateCheckpointOptions<never>, "lastInput" | "lastInputType">,
    visit: Visit,
  ): string | undefined {
    // A node does not run again after a checkpoint at another node.
    if (nodeId !== undefined) return undefined;
    const isRequested = ({ id, record }: CheckpointPoint): boolean => {
      if (checkpointId !== undefined) return id === checkpointId;
      return version === 0 ? record.id === undefined : record.version === version;
    };
    const recorded = this.#read();
    const at = recorded.findIndex((point) => isRequested(point) && isSameVisit(point.record.visit, visit));
    return at < 0 ? undefined : recorded.splice(at, 1)[0]?.id;
  }
}
