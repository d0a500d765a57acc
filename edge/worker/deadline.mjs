/** Rejects when what is waited for takes longer. @template T @param {Promise<T>} work @param {number} milliseconds @returns {Promise<T>} */
export function within(work, milliseconds) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
