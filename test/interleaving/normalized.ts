const changing = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\/store-[0-9]+/g;

/** A text without what differs from one execution to the next: names of temporary files, and the folder of the execution. */
export function normalized(text: string): string {
  return text.replace(changing, "*");
}
