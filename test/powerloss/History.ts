import { type ExpectedPicture, type Picture, samePicture } from "./Picture.ts";

/** An operation: from when to when, and what was to be seen after it. */
interface Step {
  readonly beganAt: number;
  endedAt: number;
  readonly pictures: readonly ExpectedPicture[];
}

/** What a storage had promised at each moment of a run. */
export class History {
  readonly #now: () => number;
  readonly #steps: Step[];
  #current: ExpectedPicture;

  /** @param initial what may be seen at the beginning. */
  constructor(now: () => number, initial: readonly [ExpectedPicture, ...ExpectedPicture[]]) {
    this.#now = now;
    this.#steps = [{ beganAt: 0, endedAt: 0, pictures: initial }];
    this.#current = initial[0];
  }

  /** What must be seen now. */
  get current(): ExpectedPicture {
    return this.#current;
  }

  /** Of what may be seen now, this is what is there: from the next acknowledged step on nothing else may be seen. */
  settle(picture: ExpectedPicture): void {
    this.#current = picture;
  }

  /** Does something that leads to a picture: until it has been acknowledged, what was seen before may still be. */
  async step<Result>(picture: ExpectedPicture, action: () => Promise<Result>): Promise<Result> {
    const step: Step = { beganAt: this.#now(), endedAt: Number.POSITIVE_INFINITY, pictures: [picture] };
    this.#steps.push(step);
    const result = await action();
    step.endedAt = this.#now();
    this.#current = picture;
    return result;
  }

  /** What may be seen after a crash at some moment: what was last acknowledged, or what was under way. */
  allowedAt(moment: number): readonly [ExpectedPicture, ...ExpectedPicture[]] {
    const ended = this.#steps.findLastIndex(({ endedAt }) => endedAt <= moment);
    const underWay = this.#steps.slice(ended + 1).filter(({ beganAt }) => beganAt <= moment);
    const [first = this.#current, ...others] = [
      ...(this.#steps[ended]?.pictures ?? []),
      ...underWay.flatMap(({ pictures }) => pictures),
    ];
    return [first, ...others];
  }

  /** Of what may be seen now, what was seen. */
  allowed(found: Picture, moment = this.#now()): ExpectedPicture | undefined {
    return this.allowedAt(moment).find((picture) => samePicture(picture, found));
  }
}
