import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A node asked twice under one id in one visit, so that an answer could not be told which of the two it is for. */
export class DuplicateRequestError extends AgentPersistenceError {
  override readonly code = "duplicate_request";
  readonly nodeId: string;
  /** The id that was given to both. */
  readonly id: string;

  constructor(nodeId: string, id: string) {
    super(
      `The node "${nodeId}" asked for input with the id ${JSON.stringify(id)} twice in one visit. Give each request an id of its own, such as one with the number of the round.`,
    );
    this.nodeId = nodeId;
    this.id = id;
  }
}
