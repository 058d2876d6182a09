; Installs Epochmark for one user, without administrator rights. packaging/windows_packages.py runs makensis.
; Nothing here removes a folder with what it contains: LISTS has macros that name each file and folder, and only these
; are removed. In an update, the old version works until all new files are on the disk.
;   setup.exe /S /D=C:\folder                 installs silently; exit code 2 if that failed
;   uninstall-epochmark.exe /S [/DATA]        uninstalls silently; /DATA also deletes results and settings
Unicode true
Target amd64-unicode
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
!define PARTIAL "$INSTDIR\epochmark-${VERSION}.partial"

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
!define MUI_FINISHPAGE_RUN "$INSTDIR\python\pythonw.exe"
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

; Fails if Epochmark runs from $INSTDIR: Windows lets nobody write to the file of a running program.
!macro FailIfRunning
  StrCpy $1 0
  ${Do}
    StrCpy $2 ""
    !insertmacro FindRunning "python.exe"
    !insertmacro FindRunning "pythonw.exe"
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

!macro FindRunning PROGRAM
  ${If} ${FileExists} "$INSTDIR\python\${PROGRAM}"
    ClearErrors
    FileOpen $0 "$INSTDIR\python\${PROGRAM}" a
    ${If} ${Errors}
      StrCpy $2 "${PROGRAM}"
    ${Else}
      FileClose $0
    ${EndIf}
  ${EndIf}
!macroend

!macro FindOthers PATH
  ${If} ${FileExists} "$INSTDIR\${PATH}"
    StrCpy $0 "${PATH}"
  ${EndIf}
!macroend

!macro MakeFolder PATH
  CreateDirectory "$INSTDIR\${PATH}"
!macroend

!macro MoveFile PATH
  StrCpy $R0 "${PATH}"
  Call MoveFile
!macroend

!macro DeletePartialFile PATH
  Delete "${PARTIAL}\${PATH}"
!macroend

!macro DeletePartialFolder PATH
  RMDir "${PARTIAL}\${PATH}"
!macroend

!macro DeleteFile PATH
  Delete "$INSTDIR\${PATH}"
!macroend

!macro DeleteFolder PATH
  RMDir "$INSTDIR\${PATH}"
!macroend

Function .onInit
  ${IfNot} ${AtLeastWin10}
    !insertmacro Fail "Epochmark requires Windows 10 or later."
  ${EndIf}
  System::Call 'kernel32::CreateMutex(p 0, i 0, t "Epochmark.Setup") p .r0 ?e'
  Pop $0
  ${If} $0 <> 0
    !insertmacro Fail "Epochmark is already being installed."
  ${EndIf}
FunctionEnd

; Moves the file $R0 to its final place. Virus scanners may hold a new file for some seconds.
Function MoveFile
  ${For} $1 1 20
    ClearErrors
    Rename "${PARTIAL}\$R0" "$INSTDIR\$R0"
    ${IfNot} ${Errors}
      Return
    ${EndIf}
    Sleep 500
  ${Next}
  !insertmacro Fail "$INSTDIR\$R0 can't be written. Restart Windows, then install Epochmark again."
FunctionEnd

; Uninstalls the version in the folder $R0, if there is one. Its own uninstaller has the list of its files.
Function RemoveVersion
  ${IfNot} ${FileExists} "$R0\${UNINSTALLER}"
    Return
  ${EndIf}
  CopyFiles /SILENT "$R0\${UNINSTALLER}" "$PLUGINSDIR\old.exe"
  ClearErrors
  ExecWait '"$PLUGINSDIR\old.exe" /S _?=$R0' $0
  ${If} ${Errors}
  ${OrIf} $0 <> 0
    !insertmacro Fail "The installed version can't be removed. Close Epochmark, then try again."
  ${EndIf}
  Delete "$R0\${UNINSTALLER}"
  RMDir "$R0"
FunctionEnd

Section
  InitPluginsDir
  !insertmacro FailIfRunning
  ${IfNot} ${FileExists} "$INSTDIR\${UNINSTALLER}"
    StrCpy $0 ""
    !insertmacro EachFile FindOthers
    ${If} $0 != ""
      !insertmacro Fail "$INSTDIR already contains a file named $0. Choose another folder."
    ${EndIf}
  ${EndIf}
  SetOutPath "${PARTIAL}"
  ClearErrors
  File /r "${FOLDER}\*.*"
  ${If} ${Errors}
    !insertmacro Fail "The files can't be written to $INSTDIR. Choose another folder."
  ${EndIf}
  SetOutPath "$PROFILE" ; also where the shortcut starts: no folder of ours is in use
  ReadRegStr $R0 HKCU "${KEY}" "InstallLocation"
  Call RemoveVersion
  StrCpy $R0 $INSTDIR
  Call RemoveVersion
  ; From here on, an interrupted installation can be repeated or uninstalled.
  WriteUninstaller "$INSTDIR\${UNINSTALLER}"
  WriteRegStr HKCU "${KEY}" "DisplayName" "Epochmark"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "$INSTDIR\${UNINSTALLER}"
  WriteRegStr HKCU "${KEY}" "Publisher" "The Epochmark authors"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"$INSTDIR\${UNINSTALLER}"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"$INSTDIR\${UNINSTALLER}" /S'
  WriteRegDWORD HKCU "${KEY}" "EstimatedSize" ${SIZE_KIB}
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
  SetDetailsPrint none
  !insertmacro EachFolder MakeFolder
  !insertmacro EachFile MoveFile
  !insertmacro EachFolder DeletePartialFolder
  RMDir "${PARTIAL}"
  SetDetailsPrint both
  CreateShortcut "${SHORTCUT}" "$INSTDIR\python\pythonw.exe" "-I -m epochmark" "$INSTDIR\${UNINSTALLER}"
  Call SetProgramId
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
  !insertmacro EachFile DeletePartialFile
  !insertmacro EachFolder DeletePartialFolder
  RMDir "${PARTIAL}"
  RMDir "$INSTDIR"
FunctionEnd

Section Uninstall
  SetOutPath "$PROFILE"
  !insertmacro FailIfRunning
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/DATA" $1
  ${If} ${Errors}
    MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 \
      "Also delete your results, settings, data sets and engines?" /SD IDNO IDNO keep
  ${EndIf}
  ; Python follows no links to other folders, and deletes files with long paths.
  nsExec::Exec '"$INSTDIR\python\python.exe" -I -m epochmark.forget'
  Pop $0
  keep:
  SetDetailsPrint none
  !insertmacro EachFile DeleteFile
  !insertmacro EachFolder DeleteFolder
  SetDetailsPrint both
  Delete "${SHORTCUT}"
  Delete "$INSTDIR\${UNINSTALLER}"
  RMDir "$INSTDIR"
  DeleteRegKey HKCU "${KEY}"
SectionEnd
