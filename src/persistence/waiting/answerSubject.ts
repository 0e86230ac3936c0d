export function answerSubject(requestId: string): string {
  return `answer to request ${requestId}`;
}
