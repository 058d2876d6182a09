; Installs Epochmark for one user, without administrator rights. packaging/windows_packages.py runs makensis.
; Nothing here removes a folder with what it contains: each version's uninstaller has a list of its files and folders,
; and only these are removed. All files of a version are in one folder, so that a rename replaces the old version. What
; an ended installation leaves has an uninstaller too, with which the next installation clears it.
;   setup.exe /S /D=C:\folder                 installs silently; exit code 2 if that failed
;   uninstall-epochmark.exe /S [/DATA]        uninstalls silently; /DATA also deletes results and settings
;   uninstall-epochmark.exe /S /FILES _?=...  removes only a folder's files; for installers
Unicode true
Target ${TARGET}
!include MUI2.nsh
!include FileFunc.nsh
!include LogicLib.nsh
!include Win\COM.nsh
!include Win\Propkey.nsh
!include WinVer.nsh
!include "${LISTS}"

!define KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Epochmark"
!define SHORTCUT "$SMPROGRAMS\Epochmark.lnk"
!define UNINSTALLER "uninstall-epochmark.exe" ; a name that no other program's uninstaller has
!define PROGRAM "$INSTDIR\program"
!define PARTIAL "${PROGRAM}.partial" ; some files of the new version
!define NEW "${PROGRAM}.new" ; all of them
!define OLD "${PROGRAM}.old"

Name "Epochmark"
OutFile "${OUT}"
RequestExecutionLevel user
ManifestDPIAware true
ManifestLongPathAware true
InstallDir "$LOCALAPPDATA\Programs\Epochmark"
InstallDirRegKey HKCU "${KEY}" "InstallLocation"
${COMPRESS}
BrandingText " "
VIProductVersion "${VERSION_NUMBERS}"
VIAddVersionKey "ProductName" "Epochmark"
VIAddVersionKey "FileDescription" "Epochmark"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "CompanyName" "The Epochmark authors"
VIAddVersionKey "LegalCopyright" "The Epochmark authors, MIT license"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${PANEL}"
!define MUI_FINISHPAGE_RUN "${PROGRAM}\python\pythonw.exe"
!define MUI_FINISHPAGE_RUN_PARAMETERS "-I -m epochmark"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

!macro Fail TEXT
  MessageBox MB_OK|MB_ICONSTOP "${TEXT}" /SD IDOK
  Abort
!macroend

; Fails if Epochmark runs from FOLDER: Windows lets nobody write to the file of a running program.
!macro FailIfRunning FOLDER
  StrCpy $1 0
  ${Do}
    StrCpy $2 ""
    !insertmacro FindRunning "${FOLDER}\python\python.exe"
    !insertmacro FindRunning "${FOLDER}\python\pythonw.exe"
    ${If} $2 == ""
      ${Break}
    ${EndIf}
    ${If} $1 < 4 ; a virus scanner may hold it for a moment
      IntOp $1 $1 + 1
      Sleep 500
    ${Else}
      MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Epochmark is running. Close it, then click Retry." \
        /SD IDCANCEL IDRETRY +2
      Abort
    ${EndIf}
  ${Loop}
!macroend

!macro FindRunning FILE
  ${If} ${FileExists} "${FILE}"
    ClearErrors
    FileOpen $0 "${FILE}" a
    ${If} ${Errors}
      StrCpy $2 "${FILE}"
    ${Else}
      FileClose $0
    ${EndIf}
  ${EndIf}
!macroend

!macro MoveFolder FROM TO
  StrCpy $R0 "${FROM}"
  StrCpy $R1 "${TO}"
  Call MoveFolder
!macroend

!macro RemoveVersion FOLDER UN
  StrCpy $R0 "${FOLDER}"
  Call ${UN}RemoveVersion
!macroend

!macro DeleteFile PATH
  Delete "$INSTDIR\${PATH}"
!macroend

!macro DeleteFolder PATH
  RMDir "$INSTDIR\${PATH}"
!macroend

; Removes the version in the folder $R0, if there is one.
!macro RemoveVersionFunction UN
Function ${UN}RemoveVersion
  ${If} ${FileExists} "$R0\${UNINSTALLER}"
    ClearErrors
    ExecWait '"$R0\${UNINSTALLER}" /S /FILES _?=$R0' $0
    ${If} ${Errors}
    ${OrIf} $0 <> 0
      !insertmacro Fail "$R0 can't be removed. Restart Windows, then try again."
    ${EndIf}
    Delete "$R0\${UNINSTALLER}"
  ${EndIf}
  RMDir "$R0"
FunctionEnd
!macroend
!insertmacro RemoveVersionFunction ""
!insertmacro RemoveVersionFunction "un."

Function .onInit
  ${IfNot} ${AtLeastWin10}
    !insertmacro Fail "Epochmark requires Windows 10 or later."
  ${EndIf}
  System::Call 'kernel32::CreateMutex(p 0, i 0, t "Epochmark.Setup") p .r0 ?e'
  Pop $0
  ${If} $0 <> 0
    !insertmacro Fail "Epochmark is already being installed."
  ${EndIf}
  Call PutBack
FunctionEnd

; Moves the folder $R0 to $R1. Virus scanners may hold new files for some seconds.
Function MoveFolder
  ${For} $1 1 20
    ClearErrors
    Rename "$R0" "$R1"
    ${IfNot} ${Errors}
      Return
    ${EndIf}
    Sleep 500
  ${Next}
  !insertmacro Fail "Another program uses $R0. Restart Windows, then install Epochmark again."
FunctionEnd

; Puts the old version back if an installation ended after moving it away.
Function PutBack
  ${If} ${FileExists} "${OLD}\${UNINSTALLER}"
  ${AndIfNot} ${FileExists} "${PROGRAM}\*.*"
    !insertmacro MoveFolder "${OLD}" "${PROGRAM}"
  ${EndIf}
FunctionEnd

; Removes what earlier installations left. Others' files in the old version's folders are moved to the same place again.
Function Clear
  Delete "${PARTIAL}\unfinished.exe"
  !insertmacro RemoveVersion "${PARTIAL}" ""
  !insertmacro RemoveVersion "${NEW}" ""
  !insertmacro RemoveVersion "${OLD}" ""
  ${If} ${FileExists} "${OLD}\*.*"
    StrCpy $R1 "${PROGRAM}"
    Call MoveOthersFiles
  ${EndIf}
  ${If} ${FileExists} "${OLD}\*.*"
    !insertmacro Fail "${OLD} contains files of another program. Move them, then install Epochmark again."
  ${EndIf}
FunctionEnd

; Moves what the folder $R0 contains to $R1, except for files that are there already.
Function MoveOthersFiles
  Push $R2
  Push $R3
  CreateDirectory "$R1"
  FindFirst $R2 $R3 "$R0\*.*"
  ${DoWhile} $R3 != ""
    ClearErrors
    ${If} $R3 != "."
    ${AndIf} $R3 != ".."
      Rename "$R0\$R3" "$R1\$R3"
    ${EndIf}
    ${If} ${Errors}
    ${AndIf} ${FileExists} "$R0\$R3\*.*"
      ${GetFileAttributes} "$R0\$R3" "REPARSE_POINT" $0 ; a link to another folder
      ${If} $0 == 0
        Push $R0
        Push $R1
        StrCpy $R0 "$R0\$R3"
        StrCpy $R1 "$R1\$R3"
        Call MoveOthersFiles
        Pop $R1
        Pop $R0
      ${EndIf}
    ${EndIf}
    FindNext $R2 $R3
  ${Loop}
  FindClose $R2
  RMDir "$R0"
  Pop $R3
  Pop $R2
FunctionEnd

; Removes the version that was installed in another folder, $R8.
Function RemoveReplaced
  ${If} $R8 != ""
  ${AndIf} $R8 != $INSTDIR
    !insertmacro RemoveVersion "$R8\program" ""
    RMDir "$R8"
  ${EndIf}
  DeleteRegValue HKCU "${KEY}" "Replaced"
FunctionEnd

Section
  Call PutBack
  !insertmacro FailIfRunning "${PROGRAM}"
  ReadRegStr $R9 HKCU "${KEY}" "InstallLocation"
  ${If} $R9 == ""
    StrCpy $R9 $INSTDIR
  ${EndIf}
  !insertmacro FailIfRunning "$R9\program"
  ${If} ${FileExists} "${PROGRAM}\python\python.exe"
  ${AndIfNot} ${FileExists} "${PROGRAM}\${UNINSTALLER}"
    !insertmacro Fail "${PROGRAM} contains another program. Choose another folder."
  ${EndIf}
  Call Clear
  ReadRegStr $R8 HKCU "${KEY}" "Replaced"
  Call RemoveReplaced
  SetOutPath "${PARTIAL}"
  ClearErrors
  WriteUninstaller "${PARTIAL}\unfinished.exe"
  Rename "${PARTIAL}\unfinished.exe" "${PARTIAL}\${UNINSTALLER}"
  File /r "${FOLDER}\*.*"
  SetOutPath "$PROFILE" ; also where the shortcut starts: no folder of ours is in use
  ${If} ${Errors}
    !insertmacro Fail "The files can't be written to $INSTDIR. Choose another folder."
  ${EndIf}
  !insertmacro MoveFolder "${PARTIAL}" "${NEW}" ; waits for virus scanners while the old version still works
  ${If} ${FileExists} "${PROGRAM}\*.*"
    !insertmacro MoveFolder "${PROGRAM}" "${OLD}"
  ${EndIf}
  !insertmacro MoveFolder "${NEW}" "${PROGRAM}"
  WriteRegStr HKCU "${KEY}" "Replaced" "$R9"
  WriteRegStr HKCU "${KEY}" "DisplayName" "Epochmark"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "${PROGRAM}\${UNINSTALLER}"
  WriteRegStr HKCU "${KEY}" "Publisher" "The Epochmark authors"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"${PROGRAM}\${UNINSTALLER}"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"${PROGRAM}\${UNINSTALLER}" /S'
  WriteRegDWORD HKCU "${KEY}" "EstimatedSize" ${SIZE_KIB}
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
  CreateShortcut "${SHORTCUT}" "${PROGRAM}\python\pythonw.exe" "-I -m epochmark" "${PROGRAM}\${UNINSTALLER}"
  Call SetProgramId
  Call Clear
  StrCpy $R8 $R9
  Call RemoveReplaced
SectionEnd

; Gives the shortcut the window's application ID, so that a pinned window starts Epochmark, not only Python.
Function SetProgramId
  !insertmacro ComHlpr_CreateInProcInstance ${CLSID_ShellLink} ${IID_IShellLink} r0 ""
  ${If} $0 P= 0
    Return
  ${EndIf}
  ${IUnknown::QueryInterface} $0 '("${IID_IPersistFile}",.r1)'
  ${IUnknown::QueryInterface} $0 '("${IID_IPropertyStore}",.r2)'
  ${If} $1 P<> 0
  ${AndIf} $2 P<> 0
    ${IPersistFile::Load} $1 '("${SHORTCUT}",${STGM_READWRITE})'
    System::Call '*${SYSSTRUCT_PROPERTYKEY}(${PKEY_AppUserModel_ID})p.r3'
    System::Call 'shlwapi::SHStrDup(w "${PROGRAM_ID}", *p.r4)'
    System::Call '*(&i2 31,&i6 0,p r4,&i8 0)p.r4' ; a PROPVARIANT with a VT_LPWSTR
    ${IPropertyStore::SetValue} $2 '($3,$4)'
    ${IPropertyStore::Commit} $2 ""
    ${IPersistFile::Save} $1 '("${SHORTCUT}",1)'
  ${EndIf}
FunctionEnd

; For example, the disk became full.
Function .onInstFailed
  SetOutPath "$PROFILE"
  Call PutBack
  !insertmacro RemoveVersion "${PARTIAL}" ""
  !insertmacro RemoveVersion "${NEW}" ""
  RMDir "$INSTDIR"
FunctionEnd

Section Uninstall
  SetOutPath "$PROFILE"
  !insertmacro FailIfRunning "$INSTDIR"
  ${GetParameters} $R0
  ClearErrors
  ${GetOptions} $R0 "/FILES" $1
  ${IfNot} ${Errors}
    Call un.DeleteFiles
    ${If} ${Errors}
      Abort
    ${EndIf}
    Return
  ${EndIf}
  ClearErrors
  ${GetOptions} $R0 "/DATA" $1
  ${If} ${Errors}
    MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 \
      "Also delete your results, settings, data sets and engines?" /SD IDNO IDNO keep
  ${EndIf}
  ; Python follows no links to other folders, and deletes files with long paths.
  nsExec::Exec '"$INSTDIR\python\python.exe" -I -m epochmark.forget'
  Pop $0
  keep:
  ${GetParent} "$INSTDIR" $R9 ; what an ended installation left is next to $INSTDIR
  !insertmacro RemoveVersion "$R9\program.partial" "un."
  !insertmacro RemoveVersion "$R9\program.new" "un."
  !insertmacro RemoveVersion "$R9\program.old" "un."
  Call un.DeleteFiles
  Delete "${SHORTCUT}"
  Delete "$INSTDIR\${UNINSTALLER}"
  ${For} $1 1 10 ; it may not have ended yet: Windows runs a copy of it, and deletes a file only when nobody uses it
    RMDir "$INSTDIR"
    ${IfNot} ${FileExists} "$INSTDIR\*.*"
      ${Break}
    ${EndIf}
    Sleep 500
  ${Next}
  RMDir "$R9"
  DeleteRegKey HKCU "${KEY}"
SectionEnd

; Sets the error flag if a file can't be deleted. Virus scanners may hold it for some seconds.
Function un.DeleteFiles
  SetDetailsPrint none
  ${For} $1 1 10
    ClearErrors
    !insertmacro EachFile DeleteFile
    ${IfNot} ${Errors}
      ${Break}
    ${EndIf}
    Sleep 500
  ${Next}
  !insertmacro EachFolder DeleteFolder
  SetDetailsPrint both
  ClearErrors
  ${If} $1 > 10
    SetErrors
  ${EndIf}
FunctionEnd
