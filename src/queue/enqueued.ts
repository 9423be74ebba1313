/** What an enqueue answers. */
export interface Enqueued {
  /** Of the job; where its dedupe key was taken, of the job that has it. */
  readonly id: number;
  /** Whether the dedupe key was taken, so that no job was inserted. */
  readonly duplicate: boolean;
}
