import type { ActiveSpan } from "./ActiveSpan.ts";

export function within<Result>(span: ActiveSpan, action: (span: ActiveSpan) => Promise<Result>): Promise<Result> {
  return span.run(async () => {
    try {
      const result = await action(span);
      span.end();
      return result;
    } catch (error) {
      span.end({ error });
      throw error;
    }
  });
}
