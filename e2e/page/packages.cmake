# Installs the locked npm packages of the page tests, unless that was done since the lock file changed.
if(NOT EXISTS "${DIR}/node_modules/.package-lock.json"
   OR "${DIR}/package-lock.json" IS_NEWER_THAN "${DIR}/node_modules/.package-lock.json")
  execute_process(COMMAND "${NPM}" ci --no-audit --no-fund WORKING_DIRECTORY "${DIR}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "npm ci failed in ${DIR}: ${result}")
  endif()
  file(TOUCH "${DIR}/node_modules/.package-lock.json")
endif()
