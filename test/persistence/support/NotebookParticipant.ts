import { createHash } from "node:crypto";
import { persistence, tool, type AgentContext } from "agent-persistence";
import type {
  DescribedStep,
  ParticipantContext,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "agent-persistence/feature";
import { z } from "zod";

interface Change {
  readonly page: string;
  readonly before: string;
  readonly after: string;
}

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A notebook outside the agent, with one text a page, that goes back together with the agent. */
export class NotebookParticipant implements RollbackParticipant {
  readonly key = "notebook";
  readonly pages: Map<string, string>;
  /** What it was asked to do, in order. */
  readonly asked: string[] = [];
  /** Thrown by the next `plan`. */
  refusal: Error | undefined;
  /** Thrown by each `apply` of this page. */
  stuckAt: string | undefined;
  host: ParticipantContext | undefined;

  /** @param pages the world: it outlives the processes that look at it. */
  constructor(pages: Map<string, string>) {
    this.pages = pages;
  }

  readonly write = tool({
    name: "write",
    description: "writes a page",
    inputSchema: z.object({ page: z.string(), text: z.string() }),
    effect: "idempotent",
    execute: ({ page, text }, { context }) => this.change(context, page, text),
  });
  readonly tools = [this.write];

  async change(context: AgentContext, page: string, text: string): Promise<string> {
    const before = this.pages.get(page) ?? "";
    const texts = [before, text];
    const [recorded] = persistence(context).recordedNotes(this.key) as Change[];
    this.asked.push(recorded ? `again ${page}` : `write ${page}`);
    if (!recorded) {
      const value = { page, before: hashOf(before), after: hashOf(text) };
      const contents = new Map(texts.map((content) => [hashOf(content), new TextEncoder().encode(content)]));
      persistence(context).note({ key: this.key, value, contents });
      await persistence(context).durable();
    }
    this.pages.set(page, text);
    return `${page} written`;
  }

  onInstall(host: ParticipantContext): void {
    this.host = host;
  }

  async plan({ notes, checkpointId }: ParticipantRequest): Promise<ParticipantPlan> {
    this.asked.push(`plan ${checkpointId} of ${notes.length}`);
    if (this.refusal) throw this.refusal;
    const steps = notes.map(({ value }) => ({ page: (value as Change).page, to: (value as Change).before }));
    return { steps };
  }

  async apply(step: unknown, { content }: StepRequest): Promise<void> {
    const { page, to } = step as { readonly page: string; readonly to: string };
    if (page === this.stuckAt) throw new RangeError(`${page} is stuck`);
    this.asked.push(`apply ${page}`);
    this.pages.set(page, new TextDecoder().decode(await content(to)));
  }

  describe(step: unknown): DescribedStep {
    return { subject: (step as { readonly page: string }).page, change: "write" };
  }
}
